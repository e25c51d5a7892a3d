// Makes one step of a retention sweep, within the caller's transaction. A sweep removes data in three passes: data
// above the age limit, then data of entities above their byte limit, then data of models above their limit on the
// number of rows.
import type { Transaction } from "kysely";
import type {
  KeepLimits,
  RemovedData,
  RetentionStore,
  SweepPlace,
  SweepStep,
} from "../../../base/domain/retention/retention-store.ts";
import { lockModels } from "../completions/delete-completions.ts";
import type { Schema } from "../schema.ts";
import { keyText, type KeptRow, type KeptRows, type Scope, type Surplus } from "./kept-rows.ts";

/** Maximum number of rows that one step scans. Scanning does not read the content of rows. */
const windowRows = 500;

/** Maximum number of rows that one transaction removes. */
const removalsMax = 100;

type SweepOptions = Parameters<RetentionStore["sweep"]>[2];

const start: SweepPlace = { scope: "age", of: "", after: null, gone: new Map() };

export async function sweepSome(
  transaction: Transaction<Schema>,
  kept: KeptRows,
  limits: KeepLimits,
  { from, isDry, at }: SweepOptions,
): Promise<SweepStep> {
  const found = await surplusAt(transaction, kept, limits, from ?? start);
  if (found === null) return { removed: [], next: null };
  const { place, surplus } = found;
  const window = await kept.window(transaction, place.after, scopeOf(place), windowRows);
  const isStaying = (row: KeptRow): boolean =>
    place.scope === "age" && (limits.before === null || row.at >= limits.before.toISOString());
  const firstStaying = window.findIndex(isStaying);
  const until = firstStaying < 0 ? window.length : firstStaying;
  const looked = window
    .slice(0, until)
    .filter((row) => isOf(row, place) && !(isDry && isGone(row, place, limits)));
  const asked = looked.slice(0, removalsMax);
  if (!isDry) await lockModels(transaction, new Map(asked.flatMap(modelOf)));
  const needed = asked.length === 0 ? new Set<string>() : await kept.needed(transaction, asked);
  const going: KeptRow[] = [];
  let left = surplus;
  for (const row of asked) {
    if (left <= 0) break;
    if (needed.has(keyText(row.key))) continue;
    going.push(row);
    left -= amountOf(row, place);
  }
  const removed = isDry || going.length === 0 ? going : await kept.remove(transaction, going, at);
  const isAtEnd = asked.length === looked.length && (firstStaying >= 0 || window.length < windowRows);
  const gone = isDry ? withGone(place, removed) : place.gone;
  const last = asked.length < looked.length ? asked.at(-1) : window.at(-1);
  if (!isAtEnd && left > 0 && last !== undefined)
    return { removed: byEntity(removed), next: { ...place, after: last.key, gone } };
  // Returns this position instead of the position that `surplusAt` finds. If the next step started at the entity that
  // was found, it would treat that entity as done.
  const behind = nextScope({ ...place, gone });
  const isMore = (await surplusAt(transaction, kept, limits, behind)) !== null;
  return { removed: byEntity(removed), next: isMore ? behind : null };
}

function modelOf({ modelId }: KeptRow): readonly (readonly [string, number])[] {
  return modelId === null ? [] : [[modelId, 0]];
}

/**
 * Finds the first position at or after `from` at which rows may have to be removed; null if no such position follows.
 */
async function surplusAt(
  transaction: Transaction<Schema>,
  kept: KeptRows,
  limits: KeepLimits,
  from: SweepPlace,
): Promise<{ readonly place: SweepPlace; readonly surplus: number } | null> {
  if (from.scope === "age" && limits.before !== null) return { place: from, surplus: Infinity };
  for (let place = from.scope === "age" ? nextScope(from) : from; ;) {
    const found = await findFirstOverLimit(transaction, kept, limits, place);
    if (found === null) {
      if (place.scope === "model") return null;
      place = { scope: "model", of: "", after: null, gone: place.gone };
      continue;
    }
    place = found.of === place.of ? place : { ...place, of: found.of, after: null };
    const surplus = found.amount - (place.gone.get(goneKey(place.scope, place.of)) ?? 0);
    if (surplus > 0) return { place, surplus };
    place = nextScope(place);
  }
}

/**
 * Finds the first entity above its limit, at or after a position. The last pass looks for models instead of entities.
 */
async function findFirstOverLimit(
  transaction: Transaction<Schema>,
  kept: KeptRows,
  { entityBytes, modelCount }: KeepLimits,
  { scope, of, after }: SweepPlace,
): Promise<Surplus | null> {
  const behind = { name: of, isWithin: after !== null };
  if (scope === "entity")
    return entityBytes === null ? null : kept.findEntityOverLimit(transaction, behind, entityBytes);
  return modelCount === null
    ? null
    : ((await kept.findModelOverLimit?.(transaction, behind, modelCount)) ?? null);
}

/**
 * Returns the position after all rows of the current entity or model. After the pass by age, returns the start of the
 * next pass.
 */
function nextScope({ scope, of, gone }: SweepPlace): SweepPlace {
  return scope === "age" ? { scope: "entity", of: "", after: null, gone } : { scope, of, after: null, gone };
}

function scopeOf({ scope, of }: SweepPlace): Scope {
  return { entity: scope === "entity" ? of : null, modelId: scope === "model" ? of : null };
}

function isOf(row: KeptRow, { scope, of }: SweepPlace): boolean {
  return scope === "age" || (scope === "entity" ? row.entity : row.modelId) === of;
}

/** Returns by how much removing a row reduces the excess: by its bytes for an entity, by one row for a model. */
function amountOf(row: KeptRow, { scope }: SweepPlace): number {
  return scope === "model" ? 1 : row.byteCount;
}

/**
 * True if an earlier step of a dry run counted the row as removed. Because a dry run removes nothing, later passes see
 * the row again.
 */
function isGone({ at, entity, key }: KeptRow, { scope, gone }: SweepPlace, { before }: KeepLimits): boolean {
  if (scope === "age") return false;
  if (before !== null && at < before.toISOString()) return true;
  // Only kinds of data with a limit on the number of rows have a pass by model. The first part of their keys is a
  // number.
  return scope === "model" && Number(key[0]) <= (gone.get(untilKey(entity)) ?? -1);
}

/**
 * Returns the amounts that a dry run has counted as removed, by entity and model. For kinds of data with a limit on the
 * number of rows, also returns the key up to which the rows of each entity were counted.
 */
function withGone({ scope, gone }: SweepPlace, rows: readonly KeptRow[]): ReadonlyMap<string, number> {
  const sums = new Map(gone);
  for (const { entity, modelId, byteCount, key } of rows) {
    if (scope === "entity") sums.set(untilKey(entity), Number(key[0]));
    const ofEntity = goneKey("entity", entity);
    sums.set(ofEntity, (sums.get(ofEntity) ?? 0) + byteCount);
    const ofModel = goneKey("model", modelId ?? "");
    sums.set(ofModel, (sums.get(ofModel) ?? 0) + 1);
  }
  return sums;
}

function goneKey(scope: SweepPlace["scope"], of: string): string {
  return `${scope} ${of}`;
}

function untilKey(entity: string): string {
  return `until ${entity}`;
}

function byEntity(rows: readonly KeptRow[]): readonly RemovedData[] {
  const sums = new Map<string, RemovedData>();
  for (const { entity, byteCount: bytes } of rows) {
    const { itemCount, byteCount } = sums.get(entity) ?? { itemCount: 0, byteCount: 0 };
    sums.set(entity, { entity, itemCount: itemCount + 1, byteCount: byteCount + bytes });
  }
  return [...sums.values()];
}
