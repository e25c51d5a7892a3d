// Settings as data. Each folder describes its settings in one record: default, range, and a sentence for people. From
// these records, the composition root reads flags, environment variables and the settings file; this module does not
// read them.
import { unreachable } from "./assert.ts";
import { invalid, type ServiceError } from "./service-error.ts";

/** The machine on which a server runs. */
export interface Machine {
  readonly coreCount: number;
  /** Memory limit of this process. */
  readonly memoryBytes: number;
  /** Memory limit for base models; absent if the operator set none. */
  readonly modelBytes?: number;
}

/** One setting. */
export type Setting = SettingValue & {
  /** Description for people, in one sentence. */
  readonly about: string;
  /** True for the few settings that most people need; help texts show these first. */
  readonly isEssential?: true;
  /**
   * True for a text that is never shown. Its value may also be `file:<path>`, which names a file that contains the
   * text.
   */
  readonly isSecret?: true;
};

/** A `flag` is true or false; a `list` is a list of texts. */
type SettingValue =
  | {
      readonly kind: "integer" | "number";
      readonly default: number;
      readonly min: number;
      readonly max: number;
      /** Computes the effective value from the machine if the setting is 0. */
      readonly byMachine?: (machine: Machine) => number;
    }
  /** If the default is null, null is also a valid value. It means that the setting is not set. */
  | { readonly kind: "text"; readonly default: string | null }
  | { readonly kind: "choice"; readonly default: string; readonly choices: readonly string[] }
  | { readonly kind: "flag"; readonly default: boolean }
  | { readonly kind: "list"; readonly default: readonly string[] };

export type SettingsSchema = Readonly<Record<string, Setting>>;

type ValueOf<S extends Setting> = S extends { readonly kind: "integer" | "number" }
  ? number
  : S extends { readonly kind: "flag" }
    ? boolean
    : S extends { readonly kind: "list" }
      ? readonly string[]
      : S extends { readonly kind: "choice"; readonly choices: readonly (infer Choice)[] }
        ? Choice
        : S extends { readonly kind: "text"; readonly default: string }
          ? string
          : string | null;

/** Types of the values that a schema describes. */
export type SettingsOf<Schema extends SettingsSchema> = {
  readonly [Name in keyof Schema]: ValueOf<Schema[Name]>;
};

/** Returns the schema's defaults. */
export function defaultsOf<Schema extends SettingsSchema>(schema: Schema): SettingsOf<Schema> {
  const values = Object.fromEntries(Object.entries(schema).map(([name, setting]) => [name, setting.default]));
  // Safe cast: built from the schema's own keys and kinds.
  return values as SettingsOf<Schema>;
}

/** Settings of one part of the server. */
export interface Section<Schema extends SettingsSchema, Fixed extends object> {
  /** Settings that operators can change. */
  readonly schema: Schema;
  /** Returns all settings of the section: defaults and constants, overridden by the given values. */
  with(given?: Partial<SettingsOf<Schema> & Fixed>): SettingsOf<Schema> & Readonly<Fixed>;
}

/** All settings of a section. */
export type SettingsIn<S extends Section<SettingsSchema, object>> = ReturnType<S["with"]>;

/**
 * Creates a section.
 *
 * @param fixed constants, which only embedding programs and tests override
 * @param following computes further settings from the schema's settings and the constants
 */
export function section<
  Schema extends SettingsSchema,
  Fixed extends object = object,
  Following extends object = object,
>(
  schema: Schema,
  // Safe cast: the default type parameter has no members.
  fixed: Fixed = {} as Fixed,
  following: (set: SettingsOf<Schema> & Fixed) => Following = () => ({}) as Following,
): Section<Schema, Fixed & Following> {
  const defaults = defaultsOf(schema);
  return {
    schema,
    with: (given) => {
      const set = { ...fixed, ...defaults, ...given };
      return { ...following(set), ...set };
    },
  };
}

/**
 * Checks one value, given as parsed JSON or as text, against its setting.
 *
 * @param name the value's name in its source, for the message
 * @throws ServiceError `invalid`, with the problem, the value and the limit
 */
export function readSetting(
  name: string,
  setting: Setting,
  value: unknown,
): number | string | boolean | readonly string[] | null {
  switch (setting.kind) {
    case "integer":
    case "number": {
      const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
      if (typeof number !== "number" || !Number.isFinite(number)) throw refusal(name, value, "a number");
      if (setting.kind === "integer" && !Number.isInteger(number))
        throw refusal(name, value, "a whole number");
      if (number < setting.min || number > setting.max)
        throw refusal(name, value, `between ${setting.min} and ${setting.max}`);
      return number;
    }
    case "text":
      if (typeof value === "string" || (value === null && setting.default === null)) return value;
      throw refusal(name, value, "a text");
    case "choice":
      if (typeof value !== "string" || !setting.choices.includes(value))
        throw refusal(name, value, `one of ${setting.choices.join(", ")}`);
      return value;
    case "flag":
      if (value === true || value === "true" || value === "on" || value === "1") return true;
      if (value === false || value === "false" || value === "off" || value === "0") return false;
      throw refusal(name, value, "true or false");
    case "list":
      if (typeof value === "string")
        return value
          .split(",")
          .map((item) => item.trim())
          .filter((item) => item !== "");
      if (Array.isArray(value) && value.every((item) => typeof item === "string")) return value;
      throw refusal(name, value, "a list of texts");
    default:
      return unreachable(setting);
  }
}

function refusal(name: string, value: unknown, expected: string): ServiceError {
  return invalid(`${name} is ${JSON.stringify(value)}; it must be ${expected}.`);
}
