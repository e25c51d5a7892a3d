// Retention rules for recorded completions, in storage order.
import { sql } from "kysely";
import { deleteLocked } from "../completions/delete-completions.ts";
import { bytesIn } from "./entity-bytes.ts";
import { keyText, type KeptRow, type KeptRows } from "./kept-rows.ts";

export function keptRecordings(): KeptRows {
  return {
    window: async (queries, after, { entity, modelId }, limit) => {
      let rows = queries
        .selectFrom("recorded_completions")
        .select(["sequence", "model_id", "entity", "ended_at", "byte_count"]);
      if (after !== null) rows = rows.where("sequence", ">", Number(after[0]));
      if (entity !== null) rows = rows.where("entity", "=", entity);
      if (modelId !== null) rows = rows.where("model_id", "=", modelId);
      const found = await rows.orderBy("sequence").limit(limit).execute();
      return found.map((row): KeptRow => ({
        key: [row.sequence],
        entity: row.entity,
        modelId: row.model_id,
        at: row.ended_at,
        byteCount: row.byte_count,
      }));
    },
    ...bytesIn("completion_bytes"),
    findModelOverLimit: async (queries, behind, count) => {
      const model = await queries
        .selectFrom("models")
        .select(["id", "completion_count"])
        .where("id", behind.isWithin ? ">=" : ">", behind.name)
        .where("completion_count", ">", count)
        .orderBy("id")
        .limit(1)
        .executeTakeFirst();
      return model === undefined ? null : { of: model.id, amount: model.completion_count - count };
    },
    needed: async (queries, rows) => {
      const { rows: found } = await sql<{ readonly sequence: number }>`
        select answer.sequence from recorded_completions as answer
        where answer.sequence in (${sql.join(rows.map(({ key }) => key[0]))}) and (
          exists (select 1 from annotation_items as item join annotation_queues as queue on queue.id = item.queue_id
            where item.call_id = answer.call_id and queue.project_id = answer.project_id
            and queue.deleted_at is null and item.completed_count < queue.annotators_per_item)
          or exists (select 1 from feedback as record
            join reward_rules as rule on rule.entity || '/' || rule.project = record.project_id
            join rule_notes as note on note.rule_id = rule.id and note.feedback_id = record.id
            join rule_prompts as prompt on prompt.rule_id = rule.id and prompt.prompt_hash = note.prompt_hash
            where record.project_id = answer.project_id and record.call_id = answer.call_id
            and rule.entity = answer.entity and rule.standing is not null and prompt.ready_since is not null)
        )`.execute(queries);
      return new Set(found.map(({ sequence }) => keyText([sequence])));
    },
    remove: async (transaction, rows) => {
      const sequences = rows.map(({ key }) => Number(key[0]));
      const going = await transaction
        .selectFrom("recorded_completions")
        .select(["model_id", "sequence", "message_piece", "token_piece"])
        .where("sequence", "in", sequences)
        .execute();
      await deleteLocked(transaction, going);
      const gone = new Set(going.map(({ sequence }) => sequence));
      return rows.filter(({ key }) => gone.has(Number(key[0])));
    },
  };
}
