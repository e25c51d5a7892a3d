// Aliases of models, which the operator sets. With them, programs that request another provider's models work
// unchanged.
import { quoted, ServiceError } from "../../../base/domain/service-error.ts";

/** Returns the name of the model that an alias stands for; null for any other name. */
export type ModelAliases = (name: string) => string | null;

export const noAliases: ModelAliases = () => null;

/**
 * Reads aliases, written as `alias=model`. A `*` at the end of an alias stands for any text without a colon, so it
 * never matches a name with a version (`name:stepN`). If several aliases match a name, the longest is used.
 *
 * @throws ServiceError `invalid`
 */
export function readAliases(texts: readonly string[]): ModelAliases {
  const aliases = texts
    .map((text) => {
      const [alias, model] = [
        text.slice(0, text.indexOf("=")).trim(),
        text.slice(text.indexOf("=") + 1).trim(),
      ];
      const isRead = text.includes("=") && alias !== "" && model !== "" && !alias.slice(0, -1).includes("*");
      if (isRead) return { alias, model };
      throw new ServiceError({
        code: "invalid",
        message: `The model alias ${quoted(text)} cannot be read; write alias=model, such as gpt-4.1-nano=hone-tiny or gpt-*=hone-tiny.`,
      });
    })
    .toSorted((one, other) => other.alias.length - one.alias.length);
  return (name) => {
    const found = aliases.find(({ alias }) =>
      alias.endsWith("*") ? !name.includes(":") && name.startsWith(alias.slice(0, -1)) : name === alias,
    );
    return found?.model ?? null;
  };
}
