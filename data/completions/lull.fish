# SPDX-License-Identifier: BSD-3-Clause
# Completion of lull for fish. What a word may become says `lull complete`.
function __lull_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l word $words[-1]
    set -l begin (string match -r -- '^--[^=]*=' $word)
    for line in (command $words[1] complete -- $words[2..-1] 2>/dev/null)
        switch $line
            case ':files'
                for path in (__fish_complete_path (string replace -- "$begin" '' $word))
                    echo "$begin$path"
                end
            case ':folders'
                for path in (__fish_complete_directories (string replace -- "$begin" '' $word))
                    echo "$begin$path"
                end
            case ':command *'
                set -l from (math (string replace ':command ' '' $line) + 2)
                complete -C (string join ' ' -- (string escape -- $words[$from..-1]))
            case '*'
                echo $line
        end
    end
end
complete -c lull -f -a '(__lull_complete)'
