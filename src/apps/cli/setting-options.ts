// Flags for server settings, for commands that read the same configuration as `hone serve`.
import { Option, type Command } from "commander";
import { allSettings, removedFlags, type FlagValues, type SettingSpelling } from "../server/config.ts";
import { valueText } from "./settings-help.ts";

/** Adds a flag per setting; short help shows only the essential ones. */
export function addSettingOptions(command: Command): Command {
  for (const spelling of allSettings()) command.addOption(optionFor(spelling));
  // Removed flags are parsed too, so that the configuration error can name their replacements.
  for (const flag of removedFlags()) command.addOption(new Option(`${flag} <value>`).hideHelp());
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

/** Converts the names of parsed flags from Commander's camel case back to the form on the command line. */
export function toFlagNames(flags: FlagValues): FlagValues {
  return Object.fromEntries(
    Object.entries(flags).map(([name, value]) => [
      name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
      value,
    ]),
  );
}
