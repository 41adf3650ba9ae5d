#compdef recollect
# Completion of recollect in zsh.
_recollect() {
    local value about files=
    local -a whole whole_shown open open_shown
    while IFS=$'\t' read -r value about; do
        if [[ $value == $'\x01' ]]; then
            files=1
        elif [[ $value == *[:=/] ]]; then
            open+=("$value")
            open_shown+=("${value}${about:+  -- $about}")
        elif [[ -n $value ]]; then
            whole+=("$value")
            whole_shown+=("${value}${about:+  -- $about}")
        fi
    done < <(command "$words[1]" __complete zsh "${(@Q)words[2,CURRENT]}" 2>/dev/null)
    if [[ -n $files ]]; then
        _files
        return
    fi
    (( $#open )) && compadd -V open -S '' -l -d open_shown -a open
    (( $#whole )) && compadd -V whole -l -d whole_shown -a whole
    (( $#open || $#whole ))
}
if [ "$funcstack[1]" = "_recollect" ]; then
    _recollect "$@"
else
    compdef _recollect recollect
fi
