// Reads new and replaced feedback for an automatic rule, in order. Each record is stored under the prompt of the
// answer that it judges, and each prompt with such a record is examined again. One transaction stores the results and
// how far the rule has read.
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import type { FeedbackStore } from "../../../base/domain/feedback-query/feedback-store.ts";
import type { Condition } from "../../../base/domain/feedback-query/condition.ts";
import { readCallReference } from "../../../base/domain/recordings/call-reference.ts";
import type { RuleNote, RuleStore, AutomaticHold } from "../../../base/domain/rewards/stored-rule.ts";
import { gatherFeedback, type GatherDependencies, type Gathered } from "../gather-feedback.ts";
import type { PlanInput } from "../groups/judge-answers.ts";
import { readCalls } from "../groups/recorded-calls.ts";
import { turnOf } from "../rule-condition.ts";

export interface ReadDependencies extends GatherDependencies {
  readonly feedback: Pick<FeedbackStore, "scan" | "find">;
  readonly rules: Pick<RuleStore, "advance" | "notesOf" | "notedPrompts">;
}

/** An automatic rule with everything needed to run it. */
export interface AutomaticTask extends Pick<PlanInput, "rule" | "model" | "stepMin"> {
  readonly hold: AutomaticHold;
  /** Filter for the feedback that the rule reads. */
  readonly condition: Condition;
  /** Position after which the rule continues to read feedback; null before the first page. */
  readonly cursor: number | null;
}

/**
 * `recordsMax` is the maximum number of records per page, and `recordsOfPromptMax` the maximum number examined per
 * prompt.
 */
const [recordsMax, recordsOfPromptMax] = [500, 1000];

/**
 * Reads the next page of feedback.
 *
 * @returns whether more pages remain, and the new position; null if the rule was changed or now belongs to another
 * server
 */
export async function readNewFeedback(
  dependencies: ReadDependencies,
  task: AutomaticTask,
): Promise<{ readonly hasMore: boolean; readonly cursor: number | null } | null> {
  const { feedback, rules } = dependencies;
  const { model, condition, cursor, hold } = task;
  const { projectId } = model;
  const scan = { projectId, condition, order: "changed", after: cursor, limit: recordsMax } as const;
  const page = await feedback.scan(scan, turnOf(projectId));
  const notes = await notesOn(dependencies, task, page.items);
  const to = page.last ?? cursor;
  if (to === cursor) return { hasMore: page.hasMore, cursor };
  // Before it was replaced, a record may have referred to an answer to another prompt.
  const earlier = await rules.notedPrompts(
    hold.ruleId,
    page.items.map(({ id }) => id),
  );
  const touched = new Set([...earlier, ...notes.map(({ promptHash }) => promptHash)]);
  const looked = await examinePrompts(dependencies, task, touched, (hash) =>
    notes.filter(({ promptHash }) => promptHash === hash).map(({ feedbackId }) => feedbackId),
  );
  const ready = new Set(looked.plan.groups.map(({ promptHash }) => promptHash));
  const isHeld = await rules.advance(hold, {
    from: cursor,
    to,
    notes,
    prompts: new Map([...touched].map((hash) => [hash, ready.has(hash)])),
  });
  return isHeld ? { hasMore: page.hasMore, cursor: to } : null;
}

/** Returns the prompt for each record that judges an answer of the rule's model; skips all other records. */
async function notesOn(
  { completions }: ReadDependencies,
  { rule, model }: AutomaticTask,
  records: readonly FeedbackRecord[],
): Promise<readonly RuleNote[]> {
  const calls = await readCalls(completions, rule, model.projectId, records);
  return records.flatMap(({ id: feedbackId, vendorRef }) => {
    const part = readCallReference(vendorRef);
    const call = part?.projectId === model.projectId ? calls.get(part.requestId) : undefined;
    return call?.modelId === model.id ? [{ feedbackId, promptHash: call.promptHash }] : [];
  });
}

/**
 * Returns the trainable answers to the given prompts, judged by all feedback that is stored under these prompts.
 *
 * @param newIds returns the ids of a prompt's feedback that is not stored under it yet
 */
export async function examinePrompts(
  dependencies: Pick<ReadDependencies, "feedback" | "rules" | keyof GatherDependencies>,
  task: AutomaticTask,
  promptHashes: Iterable<string>,
  newIds: (promptHash: string) => readonly string[] = () => [],
): Promise<Gathered> {
  const records: FeedbackRecord[] = [];
  for (const hash of promptHashes) {
    const known = await dependencies.rules.notesOf(task.hold.ruleId, hash, recordsOfPromptMax);
    records.push(...(await recordsOf(dependencies, task, [...new Set([...known, ...newIds(hash)])])));
  }
  return gatherFeedback(dependencies, { ...task, records });
}

/** Maximum number of concurrent record reads. */
const findsMax = 50;

/** Returns the records that still exist, oldest first. */
async function recordsOf(
  { feedback }: Pick<ReadDependencies, "feedback">,
  { model }: AutomaticTask,
  ids: readonly string[],
): Promise<readonly FeedbackRecord[]> {
  const records: FeedbackRecord[] = [];
  for (let start = 0; start < ids.length; start += findsMax) {
    const asked = ids.slice(start, start + findsMax);
    const found = await Promise.all(asked.map((id) => feedback.find(model.projectId, id)));
    records.push(...found.filter((record) => record !== null));
  }
  return records.sort(
    (one, other) => one.createdAt.getTime() - other.createdAt.getTime() || (one.id < other.id ? -1 : 1),
  );
}
