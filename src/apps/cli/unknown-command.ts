// Refuses unknown subcommands in groups with a default command, such as `hone models lst`. Without this check, the
// default command would get the word as an argument that it does not take.
import type { Command } from "commander";
import { closestName } from "../../base/domain/text/closest-name.ts";

export function refuseUnknownSubcommands(program: Command): void {
  for (const group of program.commands)
    if (group.commands.length > 0)
      group.hook("preSubcommand", () => {
        const [word] = group.args;
        const names = group.commands.map((command) => command.name());
        if (word === undefined || word.startsWith("-") || names.includes(word)) return;
        const meant = closestName(word, names) ?? names.find((name) => name.startsWith(word));
        const hint = meant === undefined ? `It has ${names.join(", ")}.` : `(Did you mean ${meant}?)`;
        group.error(`error: \`hone ${group.name()}\` has no command '${word}'\n${hint}`);
      });
}
