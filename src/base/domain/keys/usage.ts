// Usage of API keys: numbers of requests and tokens by day, key and model. Days are in UTC.
import type { PageRequest } from "../page.ts";
import { type FieldValues, integer } from "../resources/fields.ts";

function count(about: string) {
  return integer({ minimum: 0, about });
}

/** Quantities of usage that are counted. */
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
  // Safe cast: the object has one value for each field.
  const names = Object.keys(usageFields) as (keyof UsageCounts)[];
  return Object.fromEntries(names.map((name) => [name, valueOf(name)])) as UsageCounts;
}

/** Day, key and model by which usage is counted. */
export interface UsageKey {
  /** Day as `YYYY-MM-DD`, in UTC. */
  readonly day: string;
  /**
   * Id of the key; `none` if authentication is off. Empty for work without a key, such as a job of an automatic rule.
   */
  readonly keyId: string;
  /** Entity of the key. For a job without a key, it is the entity of the job's model. */
  readonly entity: string;
  /** Name of a trained model as `<entity>/<project>/<name>`, or name of a base model. */
  readonly model: string;
}

export interface UsageRow extends UsageKey, UsageCounts {}

/** Filter of usage rows. Fields that are null match all rows. The range of days includes its first and its last day. */
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
  /**
   * Adds counts to the stored counts, in one transaction. Each combination of day, key and model may occur only once.
   */
  add(rows: readonly UsageRow[]): Promise<void>;
  /**
   * Returns usage rows, ordered by day, key and model.
   *
   * @param page `after` has the form that {@link usageId} writes
   * @throws ServiceError `invalid` at `after` if it is malformed
   */
  list(filter: UsageFilter, page: PageRequest): Promise<UsagePage>;
}

/** Counts a key's requests and tokens once the work is done. Never throws and never waits. */
export interface UsageCounter {
  count(by: Omit<UsageKey, "day">, counts: Partial<UsageCounts>): void;
}

/**
 * Returns the id of a usage row, which also serves as cursor of a page. The model is the last part of the id, because
 * only its name may contain a colon.
 */
export function usageId({ day, keyId, model }: Pick<UsageKey, "day" | "keyId" | "model">): string {
  return `${day}:${keyId}:${model}`;
}

/** Returns the parts of a row's id; null if the text is not such an id. */
export function parseUsageId(id: string): Pick<UsageKey, "day" | "keyId" | "model"> | null {
  const match = /^(\d{4}-\d{2}-\d{2}):([^:]*):(.+)$/s.exec(id);
  return match && { day: match[1], keyId: match[2], model: match[3] };
}

export function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}

/** Returns the sum of two counts. */
export function addedUsage(counts: UsageCounts, more: Partial<UsageCounts>): UsageCounts {
  return countsOf((name) => counts[name] + (more[name] ?? 0));
}
