// The page docs/reference/configuration.md: every setting in its three spellings, with what it sets.
import { valueText } from "../../src/apps/cli/settings-help.ts";
import { allSettings, type SettingSpelling } from "../../src/apps/server/config.ts";
import { settingGroups } from "../../src/apps/server/settings.ts";

/** The whole page docs/reference/configuration.md. */
export function configurationPage(): string {
  const spellings = allSettings();
  const groups = Object.keys(settingGroups).map((title) => {
    const rows = spellings.filter(({ group }) => group === title).map(tableRow);
    return `## ${title}\n\n${tableHead}\n${rows.join("\n")}\n`;
  });
  return `${introduction}\n${groups.join("\n")}`;
}

const introduction = `# Configuration

Each setting has three spellings. A flag wins over an environment variable, that over \`hone.json\` in the data folder, and that over the default. A key of \`hone.json\` that does not exist is refused, and so is a variable that begins with \`HONE_\`. An empty variable counts as not set, except that of a list, which is then empty. Everything else has a limit too, which follows from these and from the machine, or is the same on every server; who comes to one is told it.

\`\`\`json
{ "server": { "port": 9000 }, "engine": { "threads": 4 } }
\`\`\`

\`hone serve --print-config\` shows what is in force, \`hone serve --help\` the settings marked ★, \`hone serve --help-all\` every one. A setting that may be given several times takes a comma-separated list too. A secret may be given as \`file:<path>\` of a file with it. What is the same on every server, or follows from these and from the machine, is no setting; a setting of earlier builds is refused with what holds in its place.

This page is written by \`npm run docs\`; what it says stands beside the code that reads it.
`;

const tableHead = "| `hone.json` | flag | environment | what it sets |\n|---|---|---|---|";

function tableRow(spelling: SettingSpelling): string {
  const { section, name, flag, variable, setting } = spelling;
  const text = [setting.about, valueText(spelling)].filter((part) => part !== "").join(" ");
  const star = setting.isEssential ? " ★" : "";
  return `| \`${section}.${name}\`${star} | \`${flag}\` | \`${variable}\` | ${text.replaceAll("|", "\\|")} |`;
}
