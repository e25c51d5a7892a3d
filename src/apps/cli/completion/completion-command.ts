// `hone completion`: print a completion script for a shell. The script calls the hidden command `hone complete`.
import { Argument, type Command, type Option } from "commander";
import { allSettings } from "../../server/config.ts";
import { connect, type ConnectionFlags } from "../connection.ts";
import { completeWords, type Candidate, type CompletionOptions } from "./complete-words.ts";
import { shells, shellScripts, type Shell } from "./shell-scripts.ts";
import { sourceOf } from "./value-sources.ts";

export function addCompletionCommands(program: Command): void {
  program
    .command("completion")
    .description(
      "Print a shell script that completes commands, flags, and the names of models, jobs, rules and webhooks.",
    )
    .addArgument(new Argument("<shell>", "shell to complete in").choices(shells))
    .action((shell: Shell) => void process.stdout.write(shellScripts[shell]));
  program
    .command("complete [words...]", { hidden: true })
    .description("Print the completions of the last word, one per line, with a description after a tab.")
    .action(async (words: readonly string[]) => {
      const { candidates, paths } = await completeWords(program, words, {
        sourceOf,
        choicesOf,
        find: findValues(words),
      });
      const lines = candidates.map(({ value, about }) => `${value}\t${about}\n`);
      process.stdout.write([...lines, ...(paths === null ? [] : [`:${paths}\n`])].join(""));
    });
}

const settingChoices = new Map(
  allSettings().flatMap(({ flag, setting }) =>
    setting.kind === "choice" ? [[flag, setting.choices] as const] : [],
  ),
);

function choicesOf({ long }: Option): readonly string[] | undefined {
  return long === undefined ? undefined : settingChoices.get(long);
}

/**
 * Maximum time in milliseconds to wait for a server. It is short because the user has pressed a key and waits. Without
 * an answer, no values are offered.
 */
const waitMs = 400;

type Find = CompletionOptions["find"];

type Finders = { readonly [Source in Parameters<Find>[0]]: () => Promise<readonly Candidate[]> };

/**
 * Returns a function that looks up current values on a server or in the data folder.
 *
 * @param words words of the command line; their flags --url, --key and --data select the server
 */
function findValues(words: readonly string[]): Find {
  const flags = { ...flagIn(words, "url"), ...flagIn(words, "key"), ...flagIn(words, "data") };
  return async (source) => {
    try {
      return await findersFor(flags)[source]();
    } catch {
      return [];
    }
  };
}

function findersFor(flags: ConnectionFlags): Finders {
  const client = connect(flags);
  const signal = AbortSignal.timeout(waitMs);
  const trained = async (): Promise<readonly Candidate[]> =>
    (await client.models.list({}, { signal }).all()).map(({ project, name, base_model: base }) => ({
      value: `${project}/${name}`,
      about: `based on ${base}`,
    }));
  return {
    trained,
    models: async () => {
      const [bases, others] = await Promise.all([client.served.bases({ signal }), trained()]);
      return [...bases.map((value) => ({ value, about: "base model" })), ...others];
    },
    versions: async () =>
      (await client.served.list({ signal })).flatMap(({ id, parent }) =>
        /:step\d+$/.test(id) ? [{ value: id, about: `based on ${parent}` }] : [],
      ),
    jobs: async () =>
      (await client.jobs.list({}, { signal }).all()).map(({ id, kind, state }) => ({
        value: id,
        about: `${kind}, ${state}`,
      })),
    added: () => addedModels(flags),
    rules: async () =>
      (await client.rules.list({}, { signal }).all()).map(({ project, name, terms }) => ({
        value: `${project}/${name}`,
        about: terms.map(({ kind }) => kind).join(" "),
      })),
    webhooks: async () =>
      (await client.webhooks.list({}, { signal }).all()).map(({ id, url }) => ({ value: id, about: url })),
  };
}

async function addedModels({ data }: ConnectionFlags): Promise<readonly Candidate[]> {
  const { listAddedModels } = await import("../../server/library/model-commands.ts");
  return listAddedModels(data === undefined ? {} : { data }).map(({ name, source }) => ({
    value: name,
    about: `from ${source}`,
  }));
}

function flagIn<Name extends string>(
  words: readonly string[],
  name: Name,
): { readonly [N in Name]?: string } {
  const flag = `--${name}`;
  const index = words.findLastIndex((word) => word === flag || word.startsWith(`${flag}=`));
  if (index < 0) return {};
  const value = words[index].includes("=") ? words[index].slice(flag.length + 1) : words[index + 1];
  // Safe cast: `name` is the object's only key.
  return value === undefined ? {} : ({ [name]: value } as { readonly [N in Name]: string });
}
