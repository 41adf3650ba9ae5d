# Completion of recollect in fish.
function __recollect_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l found (command $words[1] __complete fish $words[2..] "$typed" 2>/dev/null)
    if test "$found[1]" = \x01
        __fish_complete_path "$typed"
    else
        string join \n -- $found
    end
end
complete -c recollect -f -k -a '(__recollect_complete)'
