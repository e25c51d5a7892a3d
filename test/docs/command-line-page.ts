// Generates docs/reference/command-line.md from the definitions of the commands: arguments, flags and examples.
import { Command, type Option } from "commander";
import { addConnectionFlags } from "../../src/apps/cli/connection.ts";
import { commandsOf, examples } from "../../src/apps/cli/examples.ts";
import { selectFlag } from "../../src/apps/cli/json-output.ts";
import { createProgram } from "../../src/apps/cli/program.ts";

export function commandLinePage(): string {
  const commands = commandsOf(createProgram()).filter(([words]) => examples[words] !== undefined);
  const rows = commands.map(
    ([words, command]) => `| [\`hone ${words}\`](#${anchorOf(words)}) | ${inTable(command.description())} |`,
  );
  return [
    introduction,
    "## Reference",
    ["| command | description |", "|---|---|", ...rows].join("\n"),
    "### Shared flags",
    "Most commands have some of these flags. Each command below names those that it has, and describes its other flags.",
    flagTable(sharedFlags),
    ...commands.map(([words, command]) => commandPart(words, command)),
  ]
    .join("\n\n")
    .concat("\n");
}

const introduction = `# The command line

Run \`npx hone <command>\` in a checkout, or in a project with the package. Every command has \`--help\` with an example, and \`--json\` if it prints data. A command that fails prints one line to standard error and exits with status 1.

Commands that talk to a server take \`--url\` (\`HONE_URL\`) and \`--key\` (\`HONE_API_KEY\`). Without \`--key\`, they read the admin key from the data folder of a server on the same machine.

## Check a machine

\`\`\`sh
hone doctor
\`\`\`

\`hone doctor\` checks everything that a server needs, and reports \`ok\`, \`warning\` or \`fault\` with a remedy:

* Node, the processor, the memory, and whether ONNX Runtime loads and computes
* the settings
* the data folder, its disk, its database (read in full for damage) and its key
* the port and the process that uses it
* the memory that each model needs

\`hone doctor\` takes the settings of \`hone serve\`. To check a command line of \`hone serve\`, replace \`serve\` by \`doctor\`. The check starts no server and changes nothing. The exit status is 1 if a server would not work.

[configuration.md](configuration.md) lists all settings of \`hone serve\`; \`hone serve --help\` and the table below list the essential ones.

## Watch a server

\`\`\`sh
hone top                        # q quits
hone top --once --json          # one sample, over one interval
\`\`\`

\`hone top\` shows prompt and generated tokens per second, running and queued requests, and the share of prompt tokens found in the prefix cache. It also shows the memory of models, KV caches and processes, and the progress of jobs that the key can access. If the output is not a terminal, each sample is one line. It reads these values from \`/metrics\`, \`/health\` and the list of jobs. Without a key, it leaves out values that need one.

## Compare versions

\`\`\`sh
hone chat p/agent@3 p/agent@5 "What is the capital of France?"
hone chat --model hone-tiny --model p/agent     # a conversation with both
\`\`\`

All models answer the same questions with the same settings and seed, each in its own conversation. Answers are in columns if the terminal is wide enough, otherwise one after the other. \`name@3\` is short for \`name:step3\`.

## Names and ids

A command that takes an id also takes the beginning of the id, such as the 13 characters that narrow tables show, and a name:

| thing | names |
|---|---|
| model, version | \`project/name\`, \`entity/project/name\`; \`project/name@3\` or \`project/name:step3\` is a version |
| job | the name of a model stands for its newest job; the name of a version stands for the job that made the version |
| reward rule, annotation queue | \`project/name\`, \`entity/project/name\` |
| API key | the name that \`--name\` gave it |
| webhook | its URL, or the host of the URL |

If several ids begin with the text that you gave, the command does nothing, and its error lists these ids.

## Output for scripts

\`\`\`sh
hone jobs list --state failed --select id | xargs -n 1 hone jobs retry
hone jobs watch p/agent --select data.step,data.loss > loss.tsv
git diff | hone chat "What changed?"
\`\`\`

\`--json\` prints the whole result. \`--select\` prints only some fields of this JSON: a line per record, with tabs between the fields, and without a header line. A dot leads to a field within a field (\`progress.prepared\`), or with a number, to an element of a list (\`choices.0\`). Outside a terminal, tables are never cut, and output has neither colours nor prompts. Errors and notices go to standard error.

## Shell completion

\`\`\`sh
echo 'eval "$(hone completion bash)"' >> ~/.bashrc
echo 'eval "$(hone completion zsh)"' >> ~/.zshrc         # after the line that runs compinit
hone completion fish > ~/.config/fish/completions/hone.fish
\`\`\`

Run the command for your shell, from the block above, once. From then on, each newly started shell completes commands, flags and their values. It completes names of models, jobs, rules and webhooks if the server answers within a fraction of a second. The command \`hone\` must be in the \`PATH\`, for example after \`npm install --global\`.

\`npm run docs\` generates this page from the code of the commands.`;

/**
 * Rows of the flags that most commands have. A command that describes such a flag differently has its own row for it.
 */
const sharedFlags: readonly string[] = addConnectionFlags(new Command())
  .option("--json", "print JSON")
  .option(...selectFlag)
  .options.map(flagRow);

function commandPart(words: string, command: Command): string {
  const usage = `hone ${[words, command.usage()].filter((part) => part !== "").join(" ")}`;
  const shown = command.options.filter(({ hidden }) => !hidden);
  const shared = shown.filter((option) => sharedFlags.includes(flagRow(option)));
  const names = shared.map(({ long }) => `\`${long}\``).join(", ");
  const flags = shown.filter((option) => !shared.includes(option)).map(flagRow);
  return [
    `### hone ${words}`,
    `${command.description()}\nUsage: \`${usage}\`${shared.length === 0 ? "" : `; [shared flags](#shared-flags) ${names}`}`,
    ...(flags.length === 0 ? [] : [flagTable(flags)]),
    `\`\`\`sh\n${(examples[words] ?? []).join("\n")}\n\`\`\``,
  ].join("\n\n");
}

function flagTable(rows: readonly string[]): string {
  return ["| flag | description |", "|---|---|", ...rows].join("\n");
}

function flagRow({ flags, description, defaultValue, argChoices }: Option): string {
  const choices = argChoices === undefined ? [] : [`One of ${argChoices.join(", ")}`];
  const isShown = typeof defaultValue === "string" || typeof defaultValue === "number";
  const byDefault = isShown ? [`Default ${defaultValue}`] : [];
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
