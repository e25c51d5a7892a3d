// Writes a model folder whose prompts are expensive to render. It is a copy of the built-in model with a long context
// and a template that loops forever if the first message is `endless`.
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** First message that makes the template loop forever. */
export const endless = "never end";

export function writeHostileModel(folder: string): void {
  cpSync(join("models", "hone-tiny"), folder, { recursive: true });
  const config = JSON.parse(readFileSync(join(folder, "config.json"), "utf8")) as object;
  writeFileSync(join(folder, "config.json"), JSON.stringify({ ...config, max_position_embeddings: 32_768 }));
  const template = readFileSync(join(folder, "chat_template.jinja"), "utf8");
  const counts = "range(100000)";
  const loops = `{%- for i in ${counts} %}{%- for j in ${counts} %}{%- set k = j %}{%- endfor %}{%- endfor %}`;
  const never = `{%- if messages[0].content == "${endless}" %}${loops}{%- endif %}\n`;
  writeFileSync(join(folder, "chat_template.jinja"), never + template);
}
