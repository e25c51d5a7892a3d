// A standing rule reads on: new feedback, and what was replaced, in the order in which it came, is noted by the prompt of the
// answer that it is on, and every prompt that it touches is looked at again. One transaction writes how far it has come with
// what it found.
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import type { FeedbackStore } from "../../../base/domain/feedback-query/feedback-store.ts";
import type { Condition } from "../../../base/domain/feedback-query/condition.ts";
import { readCallReference } from "../../../base/domain/recordings/call-reference.ts";
import type { RuleNote, RuleStore, StandingHold } from "../../../base/domain/rewards/stored-rule.ts";
import { gatherFeedback, type GatherDependencies, type Gathered } from "../gather-feedback.ts";
import type { PlanInput } from "../groups/judge-answers.ts";
import { readCalls } from "../groups/recorded-calls.ts";
import { turnOf } from "../rule-condition.ts";

export interface ReadDependencies extends GatherDependencies {
  readonly feedback: Pick<FeedbackStore, "scan" | "find">;
  readonly rules: Pick<RuleStore, "advance" | "notesOf" | "notedPrompts">;
}

/** A standing rule as it is worked for. */
export interface StandingTask extends Pick<PlanInput, "rule" | "model" | "stepMin"> {
  readonly hold: StandingHold;
  /** Which feedback it reads. */
  readonly condition: Condition;
  /** How far it has read. */
  readonly cursor: number | null;
}

/** Records that are read at once, and of one prompt. */
const [recordsMax, recordsOfPromptMax] = [500, 1000];

/**
 * Reads the next page.
 *
 * @returns whether there is more, and how far it has read; null where the rule is another server's by now, or was changed
 */
export async function readOn(
  dependencies: ReadDependencies,
  task: StandingTask,
): Promise<{ readonly hasMore: boolean; readonly cursor: number | null } | null> {
  const { feedback, rules } = dependencies;
  const { model, condition, cursor, hold } = task;
  const { projectId } = model;
  const scan = { projectId, condition, order: "changed", after: cursor, limit: recordsMax } as const;
  const page = await feedback.scan(scan, turnOf(projectId));
  const notes = await notesOn(dependencies, task, page.items);
  const to = page.last ?? cursor;
  if (to === cursor) return { hasMore: page.hasMore, cursor };
  // A record that was replaced may have been on an answer to another prompt.
  const earlier = await rules.notedPrompts(
    hold.ruleId,
    page.items.map(({ id }) => id),
  );
  const touched = new Set([...earlier, ...notes.map(({ promptHash }) => promptHash)]);
  const looked = await lookAt(dependencies, task, touched, (hash) =>
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

/** By which prompt each record is noted whose answer is one of the model's; the others are about something else. */
async function notesOn(
  { completions }: ReadDependencies,
  { rule, model }: StandingTask,
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
 * What can train of the answers to some prompts, by all feedback that was noted on them.
 *
 * @param newIds feedback of a prompt that is not noted yet
 */
export async function lookAt(
  dependencies: Pick<ReadDependencies, "feedback" | "rules" | keyof GatherDependencies>,
  task: StandingTask,
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

/** Records that are read at once, each by itself. */
const findsMax = 50;

/** Those that there are, the oldest first. */
async function recordsOf(
  { feedback }: Pick<ReadDependencies, "feedback">,
  { model }: StandingTask,
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
