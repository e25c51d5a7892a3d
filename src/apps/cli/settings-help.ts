// Formats settings for the help of `hone serve` and for the documentation.
import type { SettingSpelling } from "../server/config.ts";

/**
 * Returns the setting's range or choices, and its default, as in `Range 0 to 65535. Default 8000.`; empty if the
 * setting has none of these.
 */
export function valueText({ setting }: SettingSpelling): string {
  const sentences: string[] = [];
  if (setting.kind === "integer" || setting.kind === "number")
    sentences.push(`Range ${setting.min} to ${setting.max}.`);
  if (setting.kind === "choice") sentences.push(`One of ${setting.choices.join(", ")}.`);
  const hasDefault =
    setting.default !== null && !(Array.isArray(setting.default) && setting.default.length === 0);
  if (hasDefault) sentences.push(`Default ${String(setting.default)}.`);
  return sentences.join(" ");
}
