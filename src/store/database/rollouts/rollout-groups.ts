// Selects the rollouts that a job can train on, by group. Rollouts that a job already trains on are left out.
import { type Kysely, sql } from "kysely";
import type { RolloutChoice, RolloutGroup, RolloutStore } from "../../../base/domain/rollouts/rollout.ts";
import type { Schema } from "../schema.ts";
import { isFree } from "./rollout-jobs.ts";
import { rolloutOf } from "./rollout-rows.ts";

/** Returns a query for the rollouts that match and that no job trains on. */
function freeRollouts(database: Kysely<Schema>, choice: RolloutChoice, time: string) {
  let free = database
    .selectFrom("rollouts")
    .where("rollouts.model_id", "=", choice.modelId)
    .where("rollouts.step", ">=", choice.stepMin)
    .where((row) => {
      const isOver = row.and([row("rollouts.state", "=", "open"), row("rollouts.expires_at", "<=", time)]);
      const isFinished = row("rollouts.state", "=", "finished");
      return choice.includesExpired
        ? row.or([isFinished, row("rollouts.state", "=", "expired"), isOver])
        : isFinished;
    })
    .where(isFree);
  if (choice.ids !== null) free = free.where("rollouts.id", "in", choice.ids);
  if (choice.group !== null) free = free.where("rollouts.group_key", "=", `group:${choice.group}`);
  if (choice.split !== null) free = free.where("rollouts.split", "=", choice.split);
  return choice.step === null ? free : free.where("rollouts.step", "=", choice.step);
}

/** Returns a query for the groups to which the given rollouts belong, the oldest group first. */
function groupsOf(free: ReturnType<typeof freeRollouts>, sizeMin: number | null, time: string) {
  const groups = free
    .select(["group_key", sql<number>`max(sequence)`.as("last")])
    .groupBy("group_key")
    .orderBy("last");
  if (sizeMin === null) return groups;
  return groups.having(sql<number>`count(*)`, ">=", sizeMin).where(
    sql<boolean>`not exists (select 1 from rollouts as other where other.model_id = rollouts.model_id
      and other.group_key = rollouts.group_key and other.state = 'open' and other.expires_at > ${time})`,
  );
}

export async function countGroups(
  database: Kysely<Schema>,
  choice: RolloutChoice,
  now: Date,
): Promise<{ readonly all: number; readonly whole: number }> {
  const time = now.toISOString();
  const count = async (sizeMin: number | null): Promise<number> => {
    const groups = groupsOf(freeRollouts(database, choice, time), sizeMin, time);
    const counted = database
      .selectFrom(groups.as("groups"))
      .select(({ fn }) => fn.countAll<number>().as("count"));
    return (await counted.executeTakeFirstOrThrow()).count;
  };
  return { all: await count(null), whole: await count(choice.wholeSizeMin) };
}

export async function rolloutGroups(
  database: Kysely<Schema>,
  choice: RolloutChoice,
  { groupsMax, rolloutsMax }: Parameters<RolloutStore["groups"]>[1],
  now: Date,
): Promise<Awaited<ReturnType<RolloutStore["groups"]>>> {
  const time = now.toISOString();
  const free = freeRollouts(database, choice, time);
  const found = await groupsOf(free, choice.wholeSizeMin, time)
    .limit(groupsMax + 1)
    .execute();
  const chosen: RolloutGroup[] = [];
  let count = 0;
  for (const { group_key: key } of found.slice(0, groupsMax)) {
    const rows = await free
      .selectAll("rollouts")
      .where("group_key", "=", key)
      .orderBy("sequence")
      .limit(rolloutsMax)
      .execute();
    count += rows.length;
    if (chosen.length > 0 && count > rolloutsMax) return { groups: chosen, hasMore: true };
    if (rows.length > 0) chosen.push({ key, rollouts: rows.map((row) => rolloutOf(row, null, now)) });
  }
  return { groups: chosen, hasMore: found.length > groupsMax };
}
