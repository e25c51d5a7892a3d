// Shell scripts that complete `hone` commands. They call `hone complete`, so completions always match the installed
// program.

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

export const shellScripts: Readonly<Record<Shell, string>> = {
  // If COMP_WORDBREAKS contains ":" or "=", bash ends words at these characters and replaces only the part after the
  // last one.
  bash: `# Completion of hone for bash: eval "$(hone completion bash)"
_hone() {
  local line="\${COMP_LINE:0:COMP_POINT}" current kept value about
  local -a words
  read -ra words <<< "$line"
  [[ "$line" == *[[:space:]] ]] && words+=("")
  current="\${words[\${#words[@]}-1]}"
  kept=""
  [[ "$COMP_WORDBREAKS" == *:* && "$current" == *:* ]] && kept="\${current%"\${current##*:}"}"
  [[ "$COMP_WORDBREAKS" == *=* && "$current" == *=* ]] && kept="\${current%"\${current##*=}"}"
  COMPREPLY=()
  while IFS=$'\\t' read -r value about; do
    case "$value" in
      :files) while IFS= read -r value; do COMPREPLY+=("$value"); done < <(compgen -f -- "$current"); compopt -o filenames 2>/dev/null ;;
      :folders) while IFS= read -r value; do COMPREPLY+=("$value"); done < <(compgen -d -- "$current"); compopt -o filenames 2>/dev/null ;;
      *) COMPREPLY+=("\${value#"$kept"}") ;;
    esac
  done < <("\${words[0]}" complete -- "\${words[@]:1}" 2>/dev/null)
}
complete -F _hone hone
`,
  zsh: `#compdef hone
# Completion of hone for zsh: eval "$(hone completion zsh)", or this file as _hone in a folder of fpath.
_hone() {
  local value about
  local -a candidates
  while IFS=$'\\t' read -r value about; do
    case "$value" in
      :files) _files ;;
      :folders) _files -/ ;;
      *) candidates+=("\${value//:/\\\\:}\${about:+:$about}") ;;
    esac
  done < <("\${words[1]}" complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  (( \${#candidates} )) && _describe hone candidates
}
if [ "\${funcstack[1]}" = "_hone" ]; then _hone "$@"; else compdef _hone hone; fi
`,
  fish: `# Completion of hone for fish: hone completion fish > ~/.config/fish/completions/hone.fish
function __hone_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  for line in ($words[1] complete -- $words[2..-1] "$current" 2>/dev/null)
    switch $line
      case ':files'
        __fish_complete_path "$current"
      case ':folders'
        __fish_complete_directories "$current"
      case '*'
        echo $line
    end
  end
end
complete -c hone -f -a '(__hone_complete)'
`,
};
