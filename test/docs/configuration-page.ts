// Generates docs/reference/configuration.md, which describes every setting with its three spellings.
import { valueText } from "../../src/apps/cli/settings-help.ts";
import { allSettings, type SettingSpelling } from "../../src/apps/server/config.ts";
import { settingGroups } from "../../src/apps/server/settings.ts";

export function configurationPage(): string {
  const spellings = allSettings();
  const groups = Object.keys(settingGroups).map((title) => {
    const rows = spellings.filter(({ group }) => group === title).map(tableRow);
    return `## ${title}\n\n${tableHead}\n${rows.join("\n")}\n`;
  });
  return `${introduction}\n${groups.join("\n")}`;
}

const introduction = `# Configuration

Set a setting by a flag, an environment variable, or \`hone.json\` in the data folder. A flag overrides the variable, which overrides \`hone.json\`, which overrides the default:

\`\`\`json
{ "server": { "port": 9000 }, "engine": { "threads": 4 } }
\`\`\`

* \`hone serve --print-config\` prints the effective configuration. \`hone serve --help\` lists the settings marked ★, \`hone serve --help-all\` all settings.
* For a setting that is a list, separate the values by commas, or repeat the flag.
* In place of a secret, you can give \`file:<path>\`, the path of a file that contains the secret.
* An empty environment variable counts as unset, but for a setting that is a list, it means an empty list.
* Hone refuses unknown keys of \`hone.json\` and unknown variables that begin with \`HONE_\`. It also refuses settings of earlier builds, and names their replacements.
* Hone also has limits that are not settings: they are the same on every server, or follow from the settings and the machine. If a request exceeds a limit, the error names the limit.

\`npm run docs\` generates this page from the code of the settings.
`;

const tableHead = "| `hone.json` | flag | environment | description |\n|---|---|---|---|";

function tableRow(spelling: SettingSpelling): string {
  const { section, name, flag, variable, setting } = spelling;
  const text = [setting.about, valueText(spelling)].filter((part) => part !== "").join(" ");
  const star = setting.isEssential ? " ★" : "";
  return `| \`${section}.${name}\`${star} | \`${flag}\` | \`${variable}\` | ${text.replaceAll("|", "\\|")} |`;
}
