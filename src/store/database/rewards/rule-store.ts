// Stores reward rules.
import type { Insertable, Kysely, Selectable } from "kysely";
import type { RewardRule } from "../../../base/domain/rewards/reward-rule.ts";
import type { RuleStore, AutomaticOrder, StoredRule } from "../../../base/domain/rewards/stored-rule.ts";
import { notFound, quoted, ServiceError } from "../../../base/domain/service-error.ts";
import type { Connection } from "../dialect.ts";
import { readPage, nextSequence } from "../paging.ts";
import type { Schema } from "../schema.ts";
import type { RewardRuleTable } from "./reward-tables.ts";
import { advanceRule, heldRule, releaseFailed, readAutomaticProgress } from "./automatic-rows.ts";

/** Maximum number of automatic rules that one server runs. */
const claimedMax = 1000;

export function createRuleStore({ queries: database, isMissingParent }: Connection): RuleStore {
  const missingModel = (error: unknown, { standing }: Pick<StoredRule, "standing">): unknown =>
    isMissingParent(error) && standing !== null ? notFound("model", standing.modelId) : error;
  return {
    create: (rule, { countMax }) =>
      database
        .transaction()
        .execute(async (transaction) => {
          const sequence = await nextSequence(transaction, "rules");
          const { count } = await transaction
            .selectFrom("reward_rules")
            .select(({ fn }) => fn.countAll<number>().as("count"))
            .where("entity", "=", rule.entity)
            .where("project", "=", rule.project)
            .executeTakeFirstOrThrow();
          if (count >= countMax) throw tooMany(rule, countMax);
          await requireOneQueue(transaction, rule);
          const { numInsertedOrUpdatedRows: inserted } = await transaction
            .insertInto("reward_rules")
            .values({ ...rowOf(rule), sequence })
            .onConflict((conflict) => conflict.columns(["entity", "project", "name"]).doNothing())
            .executeTakeFirst();
          if (inserted !== 1n) throw nameTaken(rule);
        })
        .catch((error: unknown) => {
          throw missingModel(error, rule);
        }),
    find: (id) => findRule(database, id),
    list: ({ entity, project, modelId }, page) => {
      let rows = database.selectFrom("reward_rules").selectAll();
      if (entity !== null) rows = rows.where("entity", "=", entity);
      if (project !== null) rows = rows.where("project", "=", project);
      if (modelId !== null) rows = rows.where("model_id", "=", modelId);
      const orderValueOf = async (id: string) =>
        (await rows.where("id", "=", id).executeTakeFirst())?.sequence;
      const contentColumns = ["content", "standing"];
      return readPage({ rows, orderColumn: "sequence", contentColumns, orderValueOf, itemOf: ruleOf }, page);
    },
    replace: (id, changes) =>
      database
        .transaction()
        .execute(async (transaction) => {
          const { name, content, standing, model_id } = columnsOf(changes);
          const updated_at = changes.updatedAt.toISOString();
          // Locks the sequence before checking the name. Every transaction that creates or replaces a rule first locks
          // this sequence.
          await nextSequence(transaction, "rules");
          const before = await findRule(transaction, id);
          if (before === null) return null;
          const other = await transaction
            .selectFrom("reward_rules")
            .select("id")
            .where("entity", "=", before.entity)
            .where("project", "=", before.project)
            .where("name", "=", name)
            .where("id", "!=", id)
            .executeTakeFirst();
          if (other !== undefined) throw nameTaken({ ...before, name });
          await requireOneQueue(transaction, { id, standing: changes.standing });
          await transaction
            .updateTable("reward_rules")
            .set({ name, content, standing, model_id, updated_at, read_to: null, fault: null })
            .where("id", "=", id)
            .execute();
          for (const table of ["rule_notes", "rule_prompts"] as const)
            await transaction.deleteFrom(table).where("rule_id", "=", id).execute();
          return await findRule(transaction, id);
        })
        .catch((error: unknown) => {
          throw missingModel(error, changes);
        }),
    setPaused: async (id, isPaused, at) => {
      await database
        .updateTable("reward_rules")
        .set({ is_paused: isPaused ? 1 : 0, fault: null, updated_at: at.toISOString() })
        .where("id", "=", id)
        .where("is_paused", "=", isPaused ? 0 : 1)
        .execute();
      return findRule(database, id);
    },
    delete: async (id) => {
      const result = await database.deleteFrom("reward_rules").where("id", "=", id).executeTakeFirst();
      return result.numDeletedRows > 0n;
    },
    ...automaticQueries(database),
  };
}

type AutomaticQueries = Pick<
  RuleStore,
  | "claim"
  | "progress"
  | "advance"
  | "notesOf"
  | "notedPrompts"
  | "readyPrompts"
  | "releaseFailed"
  | "setFault"
>;

/** Returns the operations that servers use to run automatic rules. */
function automaticQueries(database: Kysely<Schema>): AutomaticQueries {
  return {
    claim: async (owner) => {
      await database
        .updateTable("reward_rules")
        .set({ owner })
        .where("model_id", "is not", null)
        .where("is_paused", "=", 0)
        .where((rule) =>
          rule.or([
            rule("owner", "is", null),
            rule("owner", "not in", rule.selectFrom("servers").select("servers.id")),
          ]),
        )
        .where((rule) =>
          rule.exists(rule.selectFrom("servers").select("servers.id").where("servers.id", "=", owner)),
        )
        .execute();
      const rows = await database
        .selectFrom("reward_rules")
        .selectAll()
        .where("owner", "=", owner)
        .where("model_id", "is not", null)
        .where("is_paused", "=", 0)
        .orderBy("sequence")
        .limit(claimedMax)
        .execute();
      return rows.map(ruleOf);
    },
    progress: (id, since) => readAutomaticProgress(database, id, since),
    advance: (hold, advance) =>
      database.transaction().execute((transaction) => advanceRule(transaction, hold, advance)),
    notesOf: async (id, promptHash, limit) => {
      const rows = await database
        .selectFrom("rule_notes")
        .select("feedback_id")
        .where("rule_id", "=", id)
        .where("prompt_hash", "=", promptHash)
        .orderBy("feedback_id", "desc")
        .limit(limit)
        .execute();
      return rows.map((row) => row.feedback_id);
    },
    notedPrompts: async (id, feedbackIds) => {
      if (feedbackIds.length === 0) return [];
      const rows = await database
        .selectFrom("rule_notes")
        .select("prompt_hash")
        .distinct()
        .where("rule_id", "=", id)
        .where("feedback_id", "in", feedbackIds)
        .execute();
      return rows.map((row) => row.prompt_hash);
    },
    readyPrompts: async (id, limit) => {
      const rows = await database
        .selectFrom("rule_prompts")
        .select("prompt_hash")
        .where("rule_id", "=", id)
        .where("ready_since", "is not", null)
        .orderBy("ready_since")
        .orderBy("prompt_hash")
        .limit(limit)
        .execute();
      return rows.map((row) => row.prompt_hash);
    },
    releaseFailed: async ({ ruleId }) => releaseFailed(database, ruleId),
    setFault: async (hold, fault, { pauses = false } = {}) => {
      await heldRule(database, hold)
        .set({ fault, ...(pauses && { is_paused: 1 }) })
        .execute();
    },
  };
}

async function findRule(queries: Kysely<Schema>, id: string): Promise<StoredRule | null> {
  const row = await queries.selectFrom("reward_rules").selectAll().where("id", "=", id).executeTakeFirst();
  return row === undefined ? null : ruleOf(row);
}

/**
 * Refuses a rule that trains a model on its rollouts if another rule does so already. The caller has locked the
 * sequence of rules.
 */
async function requireOneQueue(
  transaction: Kysely<Schema>,
  { id, standing }: Pick<StoredRule, "id" | "standing">,
): Promise<void> {
  if (standing === null || standing.rollouts === null) return;
  const rows = await transaction
    .selectFrom("reward_rules")
    .selectAll()
    .where("model_id", "=", standing.modelId)
    .where("id", "!=", id)
    .execute();
  const other = rows.map(ruleOf).find((rule) => (rule.standing?.rollouts ?? null) !== null);
  if (other === undefined) return;
  const message = `The rule ${quoted(other.name)} trains this model on its rollouts already. Change or delete that rule.`;
  const faults = [{ location: ["standing", "modelId"], message, type: "conflict" }];
  throw new ServiceError({ code: "conflict", message, faults });
}

function columnsOf({ name, rule, standing }: Pick<StoredRule, "name" | "rule" | "standing">) {
  return {
    name,
    content: JSON.stringify(rule),
    standing: standing === null ? null : JSON.stringify(standing),
    model_id: standing?.modelId ?? null,
  };
}

function rowOf(rule: StoredRule): Omit<Insertable<RewardRuleTable>, "sequence"> {
  const { id, entity, project, isPaused, createdAt, updatedAt } = rule;
  return {
    id,
    entity,
    project,
    ...columnsOf(rule),
    is_paused: isPaused ? 1 : 0,
    created_at: createdAt.toISOString(),
    updated_at: updatedAt.toISOString(),
    owner: null,
    read_to: null,
    fault: null,
  };
}

function ruleOf(row: Selectable<RewardRuleTable>): StoredRule {
  return {
    id: row.id,
    entity: row.entity,
    project: row.project,
    name: row.name,
    // Safe cast: `columnsOf` wrote this JSON.
    rule: JSON.parse(row.content) as RewardRule,
    standing: row.standing === null || row.model_id === null ? null : automaticOrderOf(row.standing),
    isPaused: row.is_paused === 1,
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
  };
}

function automaticOrderOf(text: string): AutomaticOrder {
  // Safe cast: `columnsOf` wrote this JSON. The time became a string in it, and older programs wrote no `rollouts`.
  const order = JSON.parse(text) as Omit<AutomaticOrder, "since" | "rollouts"> & {
    readonly since: string | null;
    readonly rollouts?: AutomaticOrder["rollouts"];
  };
  const since = order.since === null ? null : new Date(order.since);
  return { ...order, rollouts: order.rollouts ?? null, since };
}

function nameTaken({ entity, project, name }: Pick<StoredRule, "entity" | "project" | "name">): ServiceError {
  const message = `${entity}/${project} has a reward rule named ${quoted(name)} already. Use another name, or change that one.`;
  return new ServiceError({
    code: "conflict",
    message,
    faults: [{ location: ["name"], message, type: "conflict" }],
  });
}

function tooMany({ entity, project }: StoredRule, countMax: number): ServiceError {
  const message = `${entity}/${project} has ${countMax} reward rules, the most that one project may. Delete some first.`;
  return new ServiceError({ code: "conflict", message });
}
