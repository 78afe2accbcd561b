# SPDX-License-Identifier: BSD-3-Clause
# Completion of lull for bash. What a word may become says `lull complete`.
_lull() {
    local line=${COMP_LINE:0:COMP_POINT} words word cut files start
    # The words as they are typed: COMP_WORDS are cut at ':' and '=', too.
    # shellcheck disable=SC2162 # backslashes before blanks are to be understood
    read -a words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=('')
    # bash replaces what stands behind the last of these characters.
    word=${words[-1]}
    cut=${word%"${word##*[:=]}"}
    COMPREPLY=()
    while IFS=$'\t' read -r word _; do
        case $word in
        :files | :folders)
            [[ $word == :files ]] && files=-f || files=-d
            start=${words[-1]#--*=}
            compopt -o filenames 2>/dev/null
            while IFS= read -r word; do
                COMPREPLY+=("${word#"$cut"}")
            done < <(compgen $files -- "$start")
            ;;
        ':command '*)
            if declare -F _command_offset >/dev/null; then
                _command_offset $((${word#:command } + 1))
            elif ((${#words[@]} == ${word#:command } + 2)); then
                compopt -o filenames 2>/dev/null
                mapfile -t COMPREPLY < <(compgen -c -f -- "${words[-1]}")
            else
                compopt -o filenames 2>/dev/null
                mapfile -t COMPREPLY < <(compgen -f -- "${words[-1]}")
            fi
            ;;
        *)
            [[ $word == *[=:,] ]] && compopt -o nospace 2>/dev/null
            COMPREPLY+=("${word#"$cut"}")
            ;;
        esac
    done < <("${words[0]/#\~\//$HOME/}" complete -- "${words[@]:1}" 2>/dev/null)
}
complete -F _lull lull
