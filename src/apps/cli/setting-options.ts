// The server's settings as flags, for commands that read the configuration as `hone serve` does.
import { Option, type Command } from "commander";
import { allSettings, goneFlags, type FlagValues, type SettingSpelling } from "../server/config.ts";
import { valueText } from "./settings-help.ts";

/** Adds a flag for every setting; help shows the essential ones. */
export function addSettingOptions(command: Command): Command {
  for (const spelling of allSettings()) command.addOption(optionFor(spelling));
  // Taken to be refused with what holds instead.
  for (const flag of goneFlags()) command.addOption(new Option(`${flag} <value>`).hideHelp());
  return command;
}

function optionFor(spelling: SettingSpelling): Option {
  const { group, flag, variable, setting } = spelling;
  const text = [setting.about, valueText(spelling), `(${variable})`].filter((part) => part !== "").join(" ");
  const option = new Option(`${flag} <value>`, text)
    .helpGroup(`${group}:`)
    .hideHelp(setting.isEssential !== true);
  if (setting.kind === "list")
    option.argParser((value: string, before: readonly string[] | undefined) => [
      ...(before ?? []),
      ...value.split(","),
    ]);
  return option;
}

/** Commander names flags in camel case; the configuration knows them as they are spelled. */
export function asSpelled(flags: FlagValues): FlagValues {
  return Object.fromEntries(
    Object.entries(flags).map(([name, value]) => [
      name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
      value,
    ]),
  );
}
