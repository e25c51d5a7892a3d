// Converts text to token ids and back. The vendored encoder computes ids; text comes from the tokens' own bytes, so
// that decoding token by token and decoding a whole sequence agree. Blanks before punctuation are not cleaned up.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Tokenizer as VendorTokenizer } from "@huggingface/tokenizers";
import { assert } from "../../base/domain/assert.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { exactSplits, createTokenDecoder } from "./tokenizer-json.ts";

export interface Tokenizer {
  /** The greatest token id plus one. A model may return logits for more ids than that. */
  readonly vocabularySize: number;
  /** Id of `eos_token` in tokenizer_config.json; null if the file names none. */
  readonly endOfTextId: number | null;
  /**
   * Returns the token ids of a text; an empty text has only special tokens. `addSpecialTokens` applies the tokenizer's
   * own template (such as a leading beginning-of-text token), which a rendered chat prompt already includes. The time
   * grows with n log n, and one unbroken word of a megabyte takes seconds, so check long texts with `leastTokenCount`
   * first.
   */
  encode(text: string, options: { readonly addSpecialTokens: boolean }): number[];
  /**
   * Returns the text of the ids, as the continuation of a prompt: a leading blank is kept. Broken UTF-8 becomes
   * U+FFFD. Ids without a token add nothing.
   */
  decode(ids: readonly number[], options: { readonly skipSpecialTokens: boolean }): string;
  /** Returns a token's own text, with U+FFFD for bytes that are not whole characters. */
  tokenText(id: number): string;
  /** Returns a token as tokenizer.json spells it (`▁hello`, `Ġhello`, `<0x0A>`); empty for ids without a token. */
  tokenSpelling(id: number): string;
  /** Returns a token's own bytes; empty for ids without a token. Must not be modified. */
  tokenBytes(id: number): Uint8Array;
  /** True for special tokens, which `skipSpecialTokens` leaves out. */
  isSpecial(id: number): boolean;
  /** Returns a lower bound of a text's token count without encoding the text; 0 if no better bound is known. */
  leastTokenCount(text: string): number;
}

/** The two tokenizer files of a model folder, parsed. */
export interface TokenizerFiles {
  /** Content of tokenizer.json. */
  readonly tokenizer: Readonly<Record<string, unknown>>;
  /** Content of tokenizer_config.json. */
  readonly config: Readonly<Record<string, unknown>>;
}

/** Used members of the vendored class, whose own declarations do not resolve under Node's module resolution. */
interface VendorEncoder {
  encode(text: string, options: { readonly add_special_tokens: boolean }): { readonly ids: number[] };
  get_vocab(withAddedTokens: boolean): ReadonlyMap<string, number>;
  get_added_tokens_decoder(): ReadonlyMap<number, { readonly special: boolean }>;
  token_to_id(token: string): number | undefined;
  id_to_token(id: number): string | undefined;
}

/** Builds a tokenizer; throws ServiceError `unsupported` if the files describe an unsupported one. */
export function createTokenizer(files: TokenizerFiles): Tokenizer {
  const vendor = buildVendor(files);
  const idOfToken = vendor.get_vocab(true);
  const repeated = repeatedTokens(files.config);
  const spelling = (id: number): string | undefined => repeated.get(id) ?? vendor.id_to_token(id);
  const vocabularySize = greatest([...idOfToken.values(), ...repeated.keys()]) + 1;
  const addedTokens = vendor.get_added_tokens_decoder();
  const decodeToken = createTokenDecoder(files.tokenizer.decoder);
  const specialIds = findSpecialIds(vendor, files.config);
  const endOfText = tokenContent(files.config.eos_token);
  const textDecoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const cache: (Uint8Array | undefined)[] = [];

  const bytesOf = (id: number): Uint8Array => {
    const token = spelling(id);
    if (token === undefined) return new Uint8Array();
    return decodeToken(token, { isAdded: addedTokens.has(id) });
  };
  const tokenBytes = (id: number): Uint8Array => (cache[id] ??= bytesOf(id));
  const isBounded = isCountable(files.tokenizer);
  // Computed on demand, because it decodes every token, and most processes that load a tokenizer never need it.
  let longest: number | null = null;
  const longestToken = (): number =>
    (longest ??= isBounded ? greatest([...idOfToken.values()].map((id) => bytesOf(id).length)) : Infinity);
  const form = normalForm(files.tokenizer);

  return {
    vocabularySize,
    endOfTextId: endOfText === null ? null : (vendor.token_to_id(endOfText) ?? null),
    encode: (text, { addSpecialTokens }) => {
      const { ids } = vendor.encode(text, { add_special_tokens: addSpecialTokens });
      assert(
        ids.every((id) => Number.isInteger(id)),
        "every token of an encoded text has an id",
      );
      return ids;
    },
    decode: (ids, { skipSpecialTokens }) => {
      const shown = skipSpecialTokens ? ids.filter((id) => !specialIds.has(id)) : ids;
      return textDecoder.decode(Buffer.concat(shown.map(tokenBytes)));
    },
    tokenText: (id) => textDecoder.decode(tokenBytes(id)),
    tokenSpelling: (id) => spelling(id) ?? "",
    tokenBytes,
    isSpecial: (id) => specialIds.has(id),
    leastTokenCount: (text) =>
      Math.ceil(Buffer.byteLength(form === null ? text : text.normalize(form)) / longestToken()),
  };
}

/**
 * Returns the additional ids of tokens that have several ids, but that tokenizer.json lists only once. Only folders
 * derived from GGUF files have such tokens.
 */
function repeatedTokens(config: TokenizerFiles["config"]): ReadonlyMap<number, string> {
  const listed = config.repeated_tokens;
  if (typeof listed !== "object" || listed === null) return new Map();
  return new Map(Object.entries(listed).map(([id, token]) => [Number(id), String(token)]));
}

function buildVendor(files: TokenizerFiles): VendorEncoder {
  try {
    // Unchecked cast: `VendorEncoder` declares the members of the vendored class that are used.
    const tokenizer = { ...files.tokenizer, pre_tokenizer: exactSplits(files.tokenizer.pre_tokenizer) };
    return new VendorTokenizer(tokenizer, files.config) as VendorEncoder;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ServiceError({
      code: "unsupported",
      message: `tokenizer.json describes a tokenizer that is not supported: ${reason}`,
      cause,
    });
  }
}

/**
 * Returns the ids of tokens that tokenizer.json marks as special, and of tokens to which tokenizer_config.json assigns
 * a role.
 */
function findSpecialIds(vendor: VendorEncoder, config: TokenizerFiles["config"]): ReadonlySet<number> {
  const ids = new Set<number>();
  for (const [id, token] of vendor.get_added_tokens_decoder()) if (token.special) ids.add(id);
  const additional = Array.isArray(config.additional_special_tokens) ? config.additional_special_tokens : [];
  for (const token of [...Object.values(specialTokensOf(config)), ...additional.map(tokenContent)]) {
    const id = token === null ? undefined : vendor.token_to_id(token);
    if (id !== undefined) ids.add(id);
  }
  return ids;
}

const specialTokenNames = [
  "bos_token",
  "eos_token",
  "unk_token",
  "pad_token",
  "sep_token",
  "cls_token",
  "mask_token",
];

/** Returns the tokens to which tokenizer_config.json assigns a role, by role; roles without a token are absent. */
export function specialTokensOf(config: TokenizerFiles["config"]): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of specialTokenNames) {
    const token = tokenContent(config[name]);
    if (token !== null) found[name] = token;
  }
  return found;
}

/** A token is given as its text, or as an object with `content`. */
function tokenContent(value: unknown): string | null {
  if (typeof value === "string") return value;
  if (typeof value === "object" && value !== null && "content" in value && typeof value.content === "string")
    return value.content;
  return null;
}

/**
 * True if every byte of a (normalized) text is in some token, because nothing is stripped and nothing is fused into an
 * unknown token.
 */
function isCountable(tokenizer: TokenizerFiles["tokenizer"]): boolean {
  const { normalizer, added_tokens: added, decoder } = tokenizer;
  const isByteLevel = JSON.stringify(decoder ?? null).includes('"ByteLevel"');
  const strips =
    Array.isArray(added) &&
    added.some(
      (token: { lstrip?: unknown; rstrip?: unknown }) => token.lstrip === true || token.rstrip === true,
    );
  return isByteLevel && !strips && (normalizer === null || normalForm(tokenizer) !== null);
}

function normalForm(tokenizer: TokenizerFiles["tokenizer"]): "NFC" | null {
  const { normalizer } = tokenizer;
  return typeof normalizer === "object" &&
    normalizer !== null &&
    "type" in normalizer &&
    normalizer.type === "NFC"
    ? "NFC"
    : null;
}

function greatest(values: Iterable<number>): number {
  let result = 0;
  for (const value of values) if (value > result) result = value;
  return result;
}

/**
 * Loads tokenizer.json and tokenizer_config.json of a model folder.
 *
 * @throws ServiceError `unsupported` if tokenizer.json is missing, broken or describes an unsupported tokenizer
 */
export async function loadTokenizer(folder: string): Promise<Tokenizer> {
  const tokenizer = await readJsonObject(folder, "tokenizer.json");
  if (tokenizer === null) {
    throw new ServiceError({
      code: "unsupported",
      message: `The model folder ${folder} has no tokenizer.json.`,
    });
  }
  return createTokenizer({
    tokenizer,
    config: (await readJsonObject(folder, "tokenizer_config.json")) ?? {},
  });
}

/**
 * Returns the JSON object in a file of the folder; null if there is no such file. Throws ServiceError `unsupported` if
 * it is not a JSON object.
 */
export async function readJsonObject(
  folder: string,
  name: string,
): Promise<Readonly<Record<string, unknown>> | null> {
  const text = await readTextFile(folder, name);
  if (text === null) return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ServiceError({
      code: "unsupported",
      message: `${join(folder, name)} is not valid JSON.`,
      cause,
    });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ServiceError({
      code: "unsupported",
      message: `${join(folder, name)} must hold a JSON object.`,
    });
  }
  return { ...value };
}

/** Returns the text of a file of the folder; null if there is no such file. */
export async function readTextFile(folder: string, name: string): Promise<string | null> {
  try {
    return await readFile(join(folder, name), "utf8");
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return null;
    throw cause;
  }
}
