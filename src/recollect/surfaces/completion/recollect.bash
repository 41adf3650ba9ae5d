# Completion of recollect in bash.
_recollect() {
    local word
    COMPREPLY=()
    while IFS= read -r word; do
        if [[ $word == $'\x01' ]]; then
            compopt -o default +o nospace 2>/dev/null
        elif [[ -n $word ]]; then
            COMPREPLY+=("$word")
        fi
    done < <(command "$1" __complete bash "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
}
complete -o nospace -F _recollect recollect
