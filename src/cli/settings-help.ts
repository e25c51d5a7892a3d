// The settings in words: for the help of `hone serve`, and as the page docs/configuration.md, which a test compares.
import { allSettings, type SettingSpelling } from "../server/config.ts";
import { sectionTitles } from "../server/settings.ts";

/** What may be given and what holds otherwise, such as `0 to 65535. Default 8000.`; empty where there is nothing to say. */
export function valueText({ setting }: SettingSpelling): string {
  const sentences: string[] = [];
  if (setting.kind === "integer" || setting.kind === "number")
    sentences.push(`${setting.min} to ${setting.max}.`);
  if (setting.kind === "choice") sentences.push(`One of ${setting.choices.join(", ")}.`);
  const hasDefault =
    setting.default !== null && !(Array.isArray(setting.default) && setting.default.length === 0);
  if (hasDefault) sentences.push(`Default ${String(setting.default)}.`);
  return sentences.join(" ");
}

/** The whole page docs/configuration.md. */
export function configurationPage(): string {
  const spellings = allSettings();
  const sections = Object.entries(sectionTitles).map(([section, title]) => {
    const rows = spellings.filter((spelling) => spelling.section === section).map(tableRow);
    return `## ${title}\n\n${tableHead}\n${rows.join("\n")}\n`;
  });
  return `${introduction}\n${sections.join("\n")}`;
}

const introduction = `# Configuration

Each setting has three spellings. A flag wins over an environment variable, that over \`hone.json\` in the data folder, and that over the default. A key of \`hone.json\` that does not exist is refused, and so is a variable that begins with \`HONE_\`.

\`\`\`json
{ "server": { "port": 9000 }, "engine": { "threads": 4 } }
\`\`\`

\`hone serve --print-config\` shows what is in force, \`hone serve --help\` the settings marked ★, \`hone serve --help-all\` every one. A setting that may be given several times takes a comma-separated list too.

This page is written by \`npm run docs\`; what it says stands beside the code that reads it.
`;

const tableHead = "| `hone.json` | flag | environment | what it sets |\n|---|---|---|---|";

function tableRow(spelling: SettingSpelling): string {
  const { section, name, flag, variable, setting } = spelling;
  const text = [setting.about, valueText(spelling)].filter((part) => part !== "").join(" ");
  const star = setting.isEssential ? " ★" : "";
  return `| \`${section}.${name}\`${star} | \`${flag}\` | \`${variable}\` | ${text.replaceAll("|", "\\|")} |`;
}
