// Plans the job of a learning cycle: reads the signals, sets held-out conversations aside, and counts what remains by
// kind and person.
import { always } from "../../base/domain/feedback-query/condition.ts";
import type { FeedbackStore } from "../../base/domain/feedback-query/feedback-store.ts";
import type { FeedbackRecord } from "../../base/domain/feedback.ts";
import type { HeldOutAnswer, LearnedFrom } from "../../base/domain/learning/learning-cycle.ts";
import { type LearningOrder, learningRule } from "../../base/domain/learning/learning-order.ts";
import type { TrainedModel } from "../../base/domain/model.ts";
import type { CompletionStore } from "../../base/domain/recordings/completion-store.ts";
import type { PreferenceOrder } from "../../base/domain/rewards/preference-order.ts";
import type { TrainingSource } from "../../base/domain/rewards/training-source.ts";
import { readFeedback } from "../rewards/feedback-jobs.ts";
import { gather, type GatherDependencies, type Gathered } from "../rewards/gather-feedback.ts";
import {
  type FeedbackPreference,
  planPreferences,
  type PreferencePlan,
} from "../rewards/preferences/plan-preferences.ts";
import { type PreferenceLines, writePreferences } from "../rewards/preferences/preference-lines.ts";
import { preferenceCondition } from "../rewards/rule-condition.ts";
import { isHeldOut } from "./conversation-key.ts";
import { heldOutAnswers } from "./held-out-answers.ts";
import { learnedFrom } from "./learned-from.ts";
import type { LearningSettings } from "./settings.ts";

export interface PlanDependencies extends GatherDependencies {
  readonly completions: Pick<CompletionStore, "find" | "findOutlines" | "list">;
  readonly feedback: Pick<FeedbackStore, "scan">;
  readonly settings: LearningSettings;
}

export interface CyclePlan {
  readonly gathered: Gathered<PreferencePlan>;
  readonly written: PreferenceLines;
  readonly learned: readonly LearnedFrom[];
  /** Number of new feedback records that the job would train on. */
  readonly signalCount: number;
  /** Held-out answers, or prompts if a judge evaluates; fewer than the minimum if there are not enough yet. */
  readonly heldOut: readonly HeldOutAnswer[];
}

/**
 * Plans the next job of a learning model.
 *
 * @throws ServiceError `unsupported` if there is too much feedback
 */
export async function planCycle(
  dependencies: PlanDependencies,
  model: TrainedModel,
  order: LearningOrder,
  now: Date,
): Promise<CyclePlan> {
  const { completions, settings } = dependencies;
  const projectId = `${model.entity}/${model.project}`;
  const preferenceOrder = preferenceOrderOf(order);
  const span = { since: new Date(now.getTime() - order.days * 24 * 3600 * 1000), until: null };
  const records = await readFeedback(
    dependencies,
    projectId,
    preferenceCondition(preferenceOrder, always, span),
  );
  const rule = learningRule(order);
  const gathered = await gather(
    dependencies,
    { rule, model: { id: model.id, projectId }, records, stepMin: 0 },
    (input) => planPreferences(input, preferenceOrder),
  );
  const { trained, held } = await separated(completions, projectId, order, {
    preferences: gathered.plan.preferences.slice(-settings.preferencesRead),
  });
  const limits = { preferencesMax: settings.preferencesMax, bytesMax: settings.jobBytesMax };
  const written = await writePreferences(completions, trained, gathered, limits);
  const used = newRecords(written.sources, records);
  const isEnough = used.length >= order.signalsMin;
  return {
    gathered,
    written,
    learned: learnedFrom(used, order),
    signalCount: used.length,
    heldOut: isEnough
      ? await heldOutAnswers({ completions, settings }, model, order, { held, since: span.since })
      : [],
  };
}

/** Returns how preferences are formed: KTO judges each answer separately, and other losses compare answers. */
function preferenceOrderOf(order: LearningOrder): PreferenceOrder {
  const rule = learningRule(order);
  return {
    rule: rule.terms.length === 0 ? null : rule,
    corrections: order.signals.includes("edits") ? order.edits : null,
    comparison:
      order.config.loss === "kto" ? { kind: "verdicts", threshold: 0.5 } : { kind: "pairs", marginMin: 0 },
  };
}

/** Separates preferences in held-out conversations from those that the job may train on. */
async function separated(
  completions: Pick<CompletionStore, "find">,
  projectId: string,
  { heldOutShare }: LearningOrder,
  { preferences }: Pick<PreferencePlan, "preferences">,
): Promise<{
  readonly trained: readonly FeedbackPreference[];
  readonly held: readonly FeedbackPreference[];
}> {
  const sides = new Map<string, boolean>();
  const trained: FeedbackPreference[] = [];
  const held: FeedbackPreference[] = [];
  for (const preference of preferences) {
    const { promptHash, chosen, rejected } = preference;
    let isHeld = sides.get(promptHash);
    if (isHeld === undefined) {
      const requestId = (chosen ?? rejected)?.requestId ?? "";
      const content = (await completions.find({ projectId, requestId }))?.content ?? null;
      // A preference without a recording is never trained on, so this choice does not matter for it.
      isHeld = content !== null && isHeldOut(content.prompt, promptHash, heldOutShare);
      sides.set(promptHash, isHeld);
    }
    (isHeld ? held : trained).push(preference);
  }
  return { trained, held };
}

/** Returns the feedback records that no earlier job has trained on, without duplicates. */
function newRecords(
  sources: readonly TrainingSource[],
  records: readonly FeedbackRecord[],
): readonly FeedbackRecord[] {
  const ids = new Set(
    sources.flatMap(({ feedback }) => feedback.filter(({ isNew }) => isNew).map(({ id }) => id)),
  );
  return records.filter(({ id }) => ids.has(id));
}
