// Settings of prices, from which the server computes the cost of tokens.
import {
  noPrices,
  type PriceList,
  tokenKinds,
  type TokenKind,
  type TokenPrices,
} from "../../../base/domain/costs/prices.ts";
import { invalid } from "../../../base/domain/service-error.ts";
import { section, type SettingsIn, type SettingsSchema } from "../../../base/domain/settings.ts";

const schema = {
  prices: {
    kind: "list",
    default: [],
    about:
      "Prices of a million tokens: `prompt=0.5`, `cached=0.1` for prompt tokens from the prefix cache, `answer=2`, and `training=8` for each pass of a job over a token. `hone-tiny:answer=1` sets the price for one base model. Default: no prices, and Hone shows no costs.",
  },
  currency: {
    kind: "text",
    default: "USD",
    about: "Label of the currency of `costs.prices`, such as `EUR` or `credits`; at most 12 characters.",
  },
} as const satisfies SettingsSchema;

export const costSettings = section(schema);

/** Maximum price of a million tokens. A greater price is probably a mistake. */
const priceMax = 1_000_000;

/**
 * Parses the settings into a price list.
 *
 * @param bases names of the base models
 * @throws ServiceError `invalid` naming the setting and the item that cannot be parsed
 */
export function readPrices(
  { prices: items, currency }: SettingsIn<typeof costSettings>,
  bases: readonly string[],
): PriceList {
  if (!/^[^\s\p{C}]{1,12}$/u.test(currency))
    throw invalid(
      `costs.currency is ${JSON.stringify(currency)}; it must have 1 to 12 characters, without spaces.`,
    );
  const read = items.map((item) => readItem(item, bases));
  if (read.length === 0) return noPrices;
  const of = (base: string | null): TokenPrices => {
    const priceOf = (kind: TokenKind): number | null => {
      const ofKind = read.filter((item) => item.kind === kind);
      const found =
        ofKind.findLast((item) => item.base === base) ?? ofKind.findLast((item) => item.base === "");
      return found?.price ?? null;
    };
    // Safe cast: the object has a price for each kind.
    return Object.fromEntries(tokenKinds.map((kind) => [kind, priceOf(kind)])) as TokenPrices;
  };
  const isUniform = read.every(({ base }) => base === "");
  return { currency, of: (base) => (base === null && !isUniform ? null : of(base)) };
}

/** A price; an empty `base` stands for all base models without their own price. */
interface PriceItem {
  readonly base: string;
  readonly kind: TokenKind;
  readonly price: number;
}

function readItem(item: string, bases: readonly string[]): PriceItem {
  const [, base = "", name, text = ""] = /^(?:(.+):)?([a-z]+)=([^=:]+)$/s.exec(item) ?? [];
  const kind = tokenKinds.find((one) => one === name);
  const price = text.trim() === "" ? NaN : Number(text);
  if (kind === undefined || !(price >= 0 && price <= priceMax))
    throw invalid(
      `costs.prices has ${JSON.stringify(item)}; it takes ${tokenKinds.map((one) => `${one}=<price>`).join(", ")}, each optionally after a base model's name and a colon, with prices from 0 to ${priceMax} for a million tokens.`,
    );
  if (base !== "" && !bases.includes(base))
    throw invalid(
      `costs.prices has ${JSON.stringify(item)}, but the base models are ${bases.join(", ")}. Correct the name, or remove the price.`,
    );
  return { base, kind, price };
}
