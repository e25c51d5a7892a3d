// Reads new and replaced feedback for an automatic training rule, in order. Stores each record under the prompt of the
// answer that it judges, and determines again whether the answers to that prompt can be trained on. One transaction
// stores the results and the position up to which the rule has read.
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
  /** Filter that selects the feedback for the rule. */
  readonly condition: Condition;
  /** Position in the feedback up to which the rule has read; null before the first page. */
  readonly cursor: number | null;
}

/** Maximum number of feedback records read per page, and of records examined per prompt. */
const [recordsMax, recordsOfPromptMax] = [500, 1000];

/**
 * Reads the next page of feedback for a rule.
 *
 * @returns whether more pages remain, and the rule's new position; null if the rule was changed or now belongs to
 * another server
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
  // Before a client replaced a record, the record may have judged an answer to another prompt. That prompt must be
  // examined again, too.
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

/**
 * Returns each record that judges an answer of the rule's model, with the hash of that answer's prompt. Skips all other
 * records.
 */
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
 * Returns the trainable answers to the given prompts, scored by all feedback that is filed under these prompts.
 *
 * @param newIds returns the ids of a prompt's feedback records that are not filed under the prompt yet
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

/** Maximum number of feedback records that are read from the store at the same time. */
const findsMax = 50;

/** Returns the feedback records that still exist, oldest first. */
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
