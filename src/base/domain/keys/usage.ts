// What keys have used: requests and tokens, by the day, the key and the model. Days are UTC's.
import type { PageRequest } from "../page.ts";
import { type FieldValues, integer } from "../resources/fields.ts";

function count(about: string) {
  return integer({ minimum: 0, about });
}

/** What is counted. */
export const usageFields = {
  requests: count("Answers begun by a model; each prompt of a text completion counts as one."),
  promptTokens: count("Prompt tokens, including those from the prefix cache."),
  cachedTokens: count("Prompt tokens from the prefix cache."),
  completionTokens: count("Answer tokens."),
  trainingTokens: count("Tokens trained on, counted once per pass."),
};
export type UsageCounts = FieldValues<typeof usageFields>;

export const noUsage = countsOf(() => 0);

function countsOf(valueOf: (name: keyof UsageCounts) => number): UsageCounts {
  // Safe cast: a value for each field.
  const names = Object.keys(usageFields) as (keyof UsageCounts)[];
  return Object.fromEntries(names.map((name) => [name, valueOf(name)])) as UsageCounts;
}

/** Whose use of what. */
export interface UsageKey {
  /** `YYYY-MM-DD`. */
  readonly day: string;
  /** Empty for what no key asked for, such as a job of a standing rule; `none` where authentication is off. */
  readonly keyId: string;
  /** The key's; of a job without a key its model's. */
  readonly entity: string;
  /** `<entity>/<project>/<name>`, or a base model's name. */
  readonly model: string;
}

export interface UsageRow extends UsageKey, UsageCounts {}

/** Each that is not null keeps to what is equal; days to those from the first to the last. */
export interface UsageFilter {
  readonly entity: string | null;
  readonly keyId: string | null;
  readonly model: string | null;
  readonly from: string | null;
  readonly to: string | null;
}

export interface UsagePage {
  readonly rows: readonly UsageRow[];
  readonly hasMore: boolean;
}

export interface UsageStore {
  /** Adds to what is there, all of it or nothing; of each day, key and model at most one row. */
  add(rows: readonly UsageRow[]): Promise<void>;
  /**
   * By day, key and model.
   *
   * @param page `after` as {@link usageId} makes it of a row
   * @throws ServiceError `invalid` at `after` for what is none
   */
  list(filter: UsageFilter, page: PageRequest): Promise<UsagePage>;
}

/** Counts as work is done. Never throws and never waits. */
export interface UsageCounter {
  count(by: Omit<UsageKey, "day">, counts: Partial<UsageCounts>): void;
}

/** The id of a row in pages: none of its parts but the last has a colon. */
export function usageId({ day, keyId, model }: Pick<UsageKey, "day" | "keyId" | "model">): string {
  return `${day}:${keyId}:${model}`;
}

/** The parts of an id; null for what is none. */
export function parseUsageId(id: string): Pick<UsageKey, "day" | "keyId" | "model"> | null {
  const match = /^(\d{4}-\d{2}-\d{2}):([^:]*):(.+)$/s.exec(id);
  return match && { day: match[1], keyId: match[2], model: match[3] };
}

export function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}

/** The counts with others added. */
export function addedUsage(counts: UsageCounts, more: Partial<UsageCounts>): UsageCounts {
  return countsOf((name) => counts[name] + (more[name] ?? 0));
}
