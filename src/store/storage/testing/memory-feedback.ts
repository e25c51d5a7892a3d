// For tests: the feedback store in memory.
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { recordsIn } from "../../../base/domain/feedback-query/feedback-batch.ts";
import type { FeedbackStore } from "../../../base/domain/feedback-query/feedback-store.ts";
import { isSampled } from "../../../base/domain/feedback-query/sample.ts";
import { compareTexts, searchableText } from "../../../base/domain/feedback-query/values.ts";
import { selected } from "../../../base/domain/testing/feedback-queries/answer-in-memory.ts";
import { holds } from "../../../base/domain/testing/feedback-queries/evaluate.ts";
import { fittingCount, pageBytesMax } from "../../../base/domain/page.ts";
import { type Fault, ServiceError } from "../../../base/domain/service-error.ts";
import type { EventRecord } from "../webhooks/events-of.ts";
import { type Exclusively, jsonBytes, pageOf } from "./memory-tables.ts";
import { tellFeedback } from "./memory-webhooks.ts";

export function memoryFeedback(exclusively: Exclusively): FeedbackStore {
  return {
    create: (records) =>
      exclusively((tables) => {
        const byKey = new Map(tables.feedback.map((record) => [keyOf(record), record]));
        const answers: FeedbackRecord[] = [];
        const added: FeedbackRecord[] = [];
        const faults: Fault[] = [];
        for (const [index, record] of records.entries()) {
          const stored = byKey.get(keyOf(record)) ?? record;
          if (!byKey.has(keyOf(record))) added.push(record);
          byKey.set(keyOf(record), stored);
          const first = tables.revisions.find((one) => keyOf(one.record) === keyOf(record))?.record;
          const answer = [stored, first].find((known) => known?.contentHash === record.contentHash);
          if (answer !== undefined) answers.push(answer);
          else
            faults.push({ location: [String(index), "id"], message: "The id is taken.", type: "conflict" });
        }
        if (faults.length > 0)
          throw new ServiceError({ code: "conflict", message: "Ids are taken.", faults });
        const stored = new Set(tables.feedback.map(keyOf));
        tables.feedbackOrder = [
          ...tables.feedbackOrder,
          ...[...byKey.keys()].filter((key) => !stored.has(key)),
        ];
        tables.feedback = [...byKey.values()];
        tellFeedback(tables, "feedback.created", added.map(told));
        return answers;
      }),
    packForm: "rows",
    createBatch: (batch, author) =>
      exclusively((tables) => {
        const records = [...recordsIn(batch)].map(({ id, content, contentHash }) => ({
          ...content,
          ...author,
          id,
          contentHash,
        }));
        const keys = new Set(records.map(keyOf));
        if (keys.size < records.length || tables.feedback.some((record) => keys.has(keyOf(record))))
          return false;
        tables.feedbackOrder = [...tables.feedbackOrder, ...keys];
        tables.feedback = [...tables.feedback, ...records];
        tellFeedback(tables, "feedback.created", records.map(told));
        return true;
      }),
    scan: ({ projectId, condition, order = "stored", share = 1, after, limit, bytesMax = pageBytesMax }) =>
      exclusively(({ feedback, feedbackOrder }) => {
        const numbered = feedback
          .filter((record) => record.projectId === projectId)
          .map((record) => {
            const places = [keyOf(record), ...(order === "changed" ? [replacedKeyOf(record)] : [])];
            return { record, number: Math.max(...places.map((key) => feedbackOrder.lastIndexOf(key))) + 1 };
          })
          .filter(({ number }) => number > (after ?? 0))
          .filter(({ record }) => isSampled(feedbackOrder.lastIndexOf(keyOf(record)) + 1, share))
          .toSorted((one, other) => one.number - other.number);
        const listed = numbered.slice(0, limit);
        const count = fittingCount(
          listed.map(({ record }) => jsonBytes(record)),
          bytesMax,
        );
        return {
          items: listed
            .slice(0, count)
            .map(({ record }) => record)
            .filter((record) => holds(condition, record)),
          last: listed[count - 1]?.number ?? null,
          hasMore: numbered.length > count,
        };
      }),
    find: (projectId, id) => exclusively(({ feedback }) => feedback.find(isRecord(projectId, id)) ?? null),
    findMany: (projectId, ids, { bytesMax = pageBytesMax } = {}) =>
      exclusively(({ feedback }) => {
        const found = feedback.filter((record) => record.projectId === projectId && ids.includes(record.id));
        return found.slice(0, fittingCount(found.map(jsonBytes), bytesMax));
      }),
    replace: (projectId, id, content, at) =>
      exclusively((tables) => {
        const earlier = tables.feedback.find(isRecord(projectId, id));
        if (earlier === undefined) return null;
        const record = { ...content, projectId, id, createdAt: earlier.createdAt };
        const revisionId = String(Number(tables.revisions.at(-1)?.id ?? -1) + 1);
        const revision = { id: revisionId, replacedAt: at, record: earlier };
        tables.revisions = [...tables.revisions, revision];
        tables.feedback = tables.feedback.map((one) => (one === earlier ? record : one));
        tables.feedbackOrder = [...tables.feedbackOrder, replacedKeyOf(record)];
        tellFeedback(tables, "feedback.replaced", [told(record)]);
        return record;
      }),
    query: ({ limit, offset, bytesMax = pageBytesMax, ...query }) =>
      exclusively(({ feedback }) => {
        const all = selected(feedback, query);
        const listed = all.slice(offset, offset + limit);
        const count = fittingCount(listed.map(jsonBytes), bytesMax);
        return { items: listed.slice(0, count), totalCount: all.length };
      }),
    placeOf: (projectId, id) =>
      exclusively(({ feedback, feedbackOrder }) => {
        const record = feedback.find(isRecord(projectId, id));
        return record === undefined ? null : feedbackOrder.lastIndexOf(keyOf(record)) + 1;
      }),
    countTypes: ({ typesMax, ...question }) =>
      exclusively(({ feedback }) => {
        const found = selected(feedback, { ...question, sortBy: [] });
        const counts = new Map<string, number>();
        for (const { feedbackType } of found) {
          const type = searchableText(feedbackType);
          counts.set(type, (counts.get(type) ?? 0) + 1);
        }
        const types = [...counts].map(([feedbackType, count]) => ({ feedbackType, count }));
        const order = (one: (typeof types)[number], other: (typeof types)[number]): number =>
          other.count - one.count || compareTexts(one.feedbackType, other.feedbackType);
        return { totalCount: found.length, types: types.toSorted(order).slice(0, typesMax) };
      }),
    delete: (projectId, ids) =>
      exclusively((tables) => {
        const stays = (record: FeedbackRecord) => record.projectId !== projectId || !ids.includes(record.id);
        tellFeedback(tables, "feedback.purged", tables.feedback.filter((record) => !stays(record)).map(told));
        tables.feedback = tables.feedback.filter(stays);
        tables.revisions = tables.revisions.filter(({ record }) => stays(record));
      }),
    history: (projectId, id, page) =>
      exclusively(({ revisions }) => {
        const listed = revisions.filter(({ record }) => isRecord(projectId, id)(record));
        return pageOf(listed, page, { bytesOf: ({ record }) => jsonBytes(record) });
      }),
  };
}

/** What webhooks are told of a record. */
function told(record: FeedbackRecord): EventRecord {
  const { projectId, id, feedbackType } = record;
  return { projectId, id, feedbackType, byteCount: JSON.stringify(record).length };
}

function keyOf({ projectId, id }: Pick<FeedbackRecord, "projectId" | "id">): string {
  return JSON.stringify([projectId, id]);
}

function replacedKeyOf(record: FeedbackRecord): string {
  return `replaced ${keyOf(record)}`;
}

function isRecord(projectId: string, id: string) {
  return (record: FeedbackRecord): boolean => record.projectId === projectId && record.id === id;
}
