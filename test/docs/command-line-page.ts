// The page docs/reference/command-line.md: every command with its arguments, flags and examples, of the commands' own definitions.
import type { Command, Option } from "commander";
import { commandsOf, examples } from "../../src/apps/cli/examples.ts";
import { createProgram } from "../../src/apps/cli/program.ts";

/** The whole page docs/reference/command-line.md. */
export function commandLinePage(): string {
  const commands = commandsOf(createProgram()).filter(([words]) => examples[words] !== undefined);
  const rows = commands.map(
    ([words, command]) => `| [\`hone ${words}\`](#${anchorOf(words)}) | ${inTable(command.description())} |`,
  );
  return [
    introduction,
    "## Reference",
    ["| command | what it does |", "|---|---|", ...rows].join("\n"),
    ...commands.map(([words, command]) => commandPart(words, command)),
  ]
    .join("\n\n")
    .concat("\n");
}

const introduction = `# The command line

\`hone\` is the command of the package: \`npx hone\` in a checkout or where it is installed. Every command has \`--help\` with an example, and \`--json\` where it prints data. Errors are one line on the standard error, with status 1. A command that asks a server takes \`--url\` (\`HONE_URL\`) and \`--key\` (\`HONE_API_KEY\`), and finds the key of a server on this machine in its data folder.

## Before the first start

\`\`\`sh
hone doctor
\`\`\`

It examines what a server needs and says of each \`ok\`, \`warning\` or \`fault\`, with what to do: Node, processor and memory, whether the native runtime loads and computes, the settings, the data folder with its disk, its database (read through for damage) and its key, the port and who has it, and whether each model fits in memory. It takes the settings of \`hone serve\`: put \`doctor\` in the place of \`serve\` in a command line to examine what that would serve. Nothing is started or changed. The status is 1 where a server would not work.

[configuration.md](configuration.md) has every setting of \`hone serve\`; its own help, and the table below, the essential ones.

## A server, live

\`\`\`sh
hone top                        # q ends it
hone top --once --json          # one look, over one interval
\`\`\`

Prompt and generated tokens a second, running and waiting requests, how much of prompts was computed before, memory of models, keys and values and processes, and the jobs that the key may see, with their progress. Where the output is no terminal each look is a line. It reads \`/metrics\`, \`/health\` and the list of jobs; what needs a key is left out without one.

## Versions side by side

\`\`\`sh
hone chat p/agent@3 p/agent@5 "What is the capital of France?"
hone chat --model hone-tiny --model p/agent     # a conversation with both
\`\`\`

All answer the same questions with the same settings and seed, in columns where the terminal is wide enough, else one after the other; each goes on from its own answers. \`name@3\` is \`name:step3\`.

## Completion

\`\`\`sh
eval "$(hone completion bash)"          # in ~/.bashrc
eval "$(hone completion zsh)"           # in ~/.zshrc, below compinit
hone completion fish > ~/.config/fish/completions/hone.fish
\`\`\`

Commands, flags and their values are completed, and the names of models and the ids of jobs, where the server answers within a fraction of a second.

This page is written by \`npm run docs\`; what it says stands beside the code of the commands.`;

function commandPart(words: string, command: Command): string {
  const usage = `hone ${[words, command.usage()].filter((part) => part !== "").join(" ")}`;
  const flags = command.options.filter(({ hidden }) => !hidden).map(flagRow);
  return [
    `### hone ${words}`,
    command.description(),
    `\`\`\`\n${usage}\n\`\`\``,
    ...(flags.length === 0 ? [] : [["| flag | what it does |", "|---|---|", ...flags].join("\n")]),
    `\`\`\`sh\n${(examples[words] ?? []).join("\n")}\n\`\`\``,
  ].join("\n\n");
}

function flagRow({ flags, description, defaultValue, argChoices }: Option): string {
  const choices = argChoices === undefined ? [] : [`One of ${argChoices.join(", ")}.`];
  const isShown = typeof defaultValue === "string" || typeof defaultValue === "number";
  const byDefault = isShown ? [`Default ${defaultValue}.`] : [];
  const text = [...choices, ...byDefault].reduce(
    (before, part) => `${before}; ${lowered(part)}`,
    description,
  );
  return `| \`${flags}\` | ${inTable(text.replace(/\.$/, ""))} |`;
}

function lowered(sentence: string): string {
  return `${sentence.slice(0, 1).toLowerCase()}${sentence.slice(1)}`;
}

function anchorOf(words: string): string {
  return `hone-${words}`.replaceAll(" ", "-");
}

function inTable(text: string): string {
  return text.replaceAll("|", "\\|");
}
