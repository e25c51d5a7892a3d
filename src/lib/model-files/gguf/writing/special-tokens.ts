// Finds the special tokens and the chat templates of a folder for the metadata of a GGUF file, by the rules of
// llama.cpp's converter (gguf-py's `SpecialVocab`).
import { addedTokensOf } from "./written-tokenizer.ts";
import type { TypedMetadata, TypedValue } from "../type-numbers.ts";

type Json = Readonly<Record<string, unknown>>;

/** Files of a folder that name special tokens. */
export interface SpecialTokenSource {
  /** Content of tokenizer.json. */
  readonly tokenizer: Json;
  /** Content of tokenizer_config.json, together with chat templates from separate files. */
  readonly tokenizerConfig: Json;
  /** Content of config.json. */
  readonly config: Json;
  readonly vocabularySize: number;
}

/** Roles of special tokens, each with the name that GGUF keys use for it. */
const roles = {
  bos: "bos",
  eos: "eos",
  unk: "unknown",
  sep: "seperator",
  pad: "padding",
  cls: "cls",
  mask: "mask",
  eot: "eot",
} as const;

type Role = keyof typeof roles;

/**
 * Returns three kinds of keys: the ids of special tokens, whether a text begins and ends with some of them, and the
 * chat templates.
 */
export function specialTokenKeys(source: SpecialTokenSource): TypedMetadata {
  const keys = new Map<string, TypedValue>();
  const added = addedRoles(source);
  for (const idOf of [namedId, configuredId])
    for (const [role, name] of entriesOf(roles)) {
      const id = idOf(source, role, added);
      const key = `tokenizer.ggml.${name}_token_id`;
      if (id !== null && id >= 0 && id < source.vocabularySize && !keys.has(key))
        keys.set(key, { type: "uint32", value: id });
    }
  // The converter writes the tokens of the post-processor first.
  for (const role of new Set<Role>([...added.adds.keys(), "bos", "eos", "sep"])) {
    const written = source.tokenizerConfig[`add_${role}_token`];
    const isAdded = added.adds.get(role) ?? (typeof written === "boolean" ? written : null);
    if (isAdded !== null) keys.set(`tokenizer.ggml.add_${role}_token`, { type: "flag", value: isAdded });
  }
  for (const [key, value] of templateKeys(source.tokenizerConfig["chat_template"])) keys.set(key, value);
  return keys;
}

/** Safe cast: these are the entries of the record. */
function entriesOf(record: typeof roles): readonly [Role, string][] {
  return Object.entries(record) as [Role, string][];
}

/** Returns the id of the token that tokenizer_config.json names for a role. */
function namedId(
  { tokenizer, tokenizerConfig }: SpecialTokenSource,
  role: Role,
  added: AddedRoles,
): number | null {
  const text = added.texts.get(role) ?? contentOf(tokenizerConfig[`${role}_token`]);
  return addedTokensOf(tokenizer).find(({ content }) => content === text)?.id ?? null;
}

/** Returns the id that config.json gives for a role. */
function configuredId({ config }: SpecialTokenSource, role: Role): number | null {
  const id = config[`${role}_token_id`];
  return typeof id === "number" ? id : null;
}

function contentOf(token: unknown): string | null {
  if (typeof token === "string") return token;
  if (typeof token !== "object" || token === null) return null;
  const { content } = token as { readonly content?: unknown }; // Safe cast: an object.
  return typeof content === "string" ? content : null;
}

interface AddedRoles {
  /** True for roles whose token is added to every text. */
  readonly adds: ReadonlyMap<Role, boolean>;
  /** Tokens that the post-processor assigns to a role. */
  readonly texts: ReadonlyMap<Role, string>;
}

/** Reads from the tokenizer's post-processor which special tokens it adds to a text. */
function addedRoles({ tokenizer, tokenizerConfig }: SpecialTokenSource): AddedRoles {
  const adds = new Map<Role, boolean>();
  const texts = new Map<Role, string>();
  const textOf = (role: Role): string | null =>
    texts.get(role) ?? contentOf(tokenizerConfig[`${role}_token`]);
  for (const processor of processorsOf(tokenizer["post_processor"])) {
    if (processor.type === "ByteLevel")
      for (const role of ["bos", "eos"] as const) if (!adds.has(role)) adds.set(role, false);
    if (processor.type !== "TemplateProcessing") continue;
    const { single = [], pair = [] } = processor;
    const [first, last] =
      single.length > 1 ? [single[0]?.SpecialToken?.id, single.at(-1)?.SpecialToken?.id] : [];
    if (first !== undefined) {
      if (textOf("bos") === null) texts.set("bos", first);
      adds.set("bos", [textOf("bos"), textOf("cls")].includes(first));
    }
    if (last !== undefined) {
      const end = textOf("eos");
      if (end !== null && end !== last) texts.set("eot", end);
      texts.set("eos", last);
      adds.set("eos", true);
    }
    const between = separatorsOf(pair, { first, last });
    if (between === null) continue;
    const isSeparator = between.some((id) => [textOf("sep"), textOf("eos")].includes(id));
    adds.set("sep", isSeparator && (last === undefined || between.length === 2));
  }
  return { adds, texts };
}

interface TemplateItem {
  readonly SpecialToken?: { readonly id?: string };
  readonly Sequence?: { readonly id?: string };
}

interface PostProcessor {
  readonly type?: string;
  readonly processors?: readonly PostProcessor[];
  readonly single?: readonly TemplateItem[];
  readonly pair?: readonly TemplateItem[];
}

function processorsOf(written: unknown): readonly PostProcessor[] {
  if (typeof written !== "object" || written === null) return [];
  const processor = written as PostProcessor; // Safe cast: Hone has loaded this tokenizer.
  return processor.processors ?? [processor];
}

/** Returns the tokens between the two texts of a pair; null if there are none. */
function separatorsOf(
  pair: readonly TemplateItem[],
  { first, last }: { readonly first?: string | undefined; readonly last?: string | undefined },
): readonly (string | null)[] | null {
  const start = first !== undefined && pair[0]?.SpecialToken?.id === first ? 1 : 0;
  const end = last !== undefined && pair.at(-1)?.SpecialToken?.id === last ? -1 : pair.length;
  const inner = pair.slice(start, end);
  if (inner[0]?.Sequence?.id !== "A" || inner.at(-1)?.Sequence?.id !== "B") return null;
  const between = inner.slice(1, -1).map((item) => item.SpecialToken?.id ?? null);
  return between.length === 0 ? null : between;
}

interface NamedTemplate {
  readonly name: string;
  readonly template: string;
}

function templateKeys(written: unknown): readonly (readonly [string, TypedValue])[] {
  const key = "tokenizer.chat_template";
  if (typeof written === "string") return [[key, { type: "text", value: written }]];
  if (!Array.isArray(written)) return [];
  const named = written as readonly NamedTemplate[]; // Safe cast: Hone has loaded these templates.
  const others = named.filter(({ name }) => name !== "default");
  const names = others.map(({ name }) => name.replaceAll(/[^a-zA-Z0-9]/g, "_"));
  const list: (readonly [string, TypedValue])[] = named.map(({ name, template }) => [
    name === "default" ? key : `${key}.${names[others.findIndex((other) => other.name === name)]}`,
    { type: "text", value: template },
  ]);
  return names.length === 0 ? list : [["tokenizer.chat_templates", { type: "text", value: names }], ...list];
}
