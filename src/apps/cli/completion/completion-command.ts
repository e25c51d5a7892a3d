// `hone completion`: what a shell needs to complete the words of commands, and `hone complete`, which it then asks.
import { Argument, type Command, type Option } from "commander";
import { allSettings } from "../../server/config.ts";
import { completeWords } from "./complete-words.ts";
import { findValues } from "./find-values.ts";
import { shells, shellScripts, type Shell } from "./shell-scripts.ts";
import { sourceOf } from "./value-sources.ts";

export function addCompletionCommands(program: Command): void {
  program
    .command("completion")
    .description("Print what a shell runs to complete commands, flags, and the names of models and jobs.")
    .addArgument(new Argument("<shell>", "which shell").choices(shells))
    .action((shell: Shell) => void process.stdout.write(shellScripts[shell]));
  program
    .command("complete [words...]", { hidden: true })
    .description("Print what the last of these words may be: a line each, with what it is behind a tab.")
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
