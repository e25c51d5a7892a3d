// Chooses the held-out answers or prompts of a learning cycle. The cycle stores them, so that a repeated evaluation
// uses the same ones.
import type { HeldOutAnswer } from "../../base/domain/learning/learning-cycle.ts";
import type { LearningOrder } from "../../base/domain/learning/learning-order.ts";
import type { TrainedModel } from "../../base/domain/model.ts";
import { anyCompletion, type CompletionStore } from "../../base/domain/recordings/completion-store.ts";
import type { FeedbackPreference, PreferenceSide } from "../rewards/preferences/plan-preferences.ts";
import { isHeldOut } from "./conversation-key.ts";
import type { LearningSettings } from "./settings.ts";

interface Dependencies {
  readonly completions: Pick<CompletionStore, "find" | "list">;
  readonly settings: LearningSettings;
}

/**
 * Returns the held-out part of a cycle: with a judge, prompts of recorded chats; otherwise, answers that people wanted
 * or did not want. Returns an empty list if no answer was wanted, because only wanted answers can show that a version
 * became worse.
 */
export async function heldOutAnswers(
  dependencies: Dependencies,
  model: TrainedModel,
  order: LearningOrder,
  found: { readonly held: readonly FeedbackPreference[]; readonly since: Date },
): Promise<readonly HeldOutAnswer[]> {
  if (order.judge !== null) return recordedPrompts(dependencies, model, order, found.since);
  const newest = [...found.held].reverse();
  const wanted = distinct(newest.map(({ chosen }) => chosen)).map(judged(true));
  const unwanted = distinct(newest.map(({ rejected }) => rejected)).map(judged(false));
  if (wanted.length === 0) return [];
  const unwantedCount = Math.min(unwanted.length, Math.floor(order.promptsMax / 2));
  const chosen = wanted.slice(0, order.promptsMax - unwantedCount);
  return [...chosen, ...unwanted.slice(0, order.promptsMax - chosen.length)];
}

const judged =
  (isWanted: boolean) =>
  ({ requestId, choice }: PreferenceSide): HeldOutAnswer => ({ requestId, choice, isWanted });

/** Returns recorded answers without duplicates. Corrections are left out, because they were not recorded as tokens. */
function distinct(sides: readonly (PreferenceSide | null)[]): readonly PreferenceSide[] {
  const recorded = sides
    .filter((side) => side !== null)
    .filter(({ correctedText }) => correctedText === null);
  return [...new Map(recorded.map((side) => [`${side.choice} ${side.requestId}`, side])).values()];
}

/** Returns the newest recorded chats with held-out prompts, each prompt once. */
async function recordedPrompts(
  { completions, settings }: Dependencies,
  { id: modelId, entity, project }: TrainedModel,
  { heldOutShare, promptsMax }: LearningOrder,
  since: Date,
): Promise<readonly HeldOutAnswer[]> {
  const projectId = `${entity}/${project}`;
  const found = new Map<string, HeldOutAnswer>();
  const filter = { ...anyCompletion, modelId, endedFrom: since };
  let after: number | null = null;
  let [searched, hasMore] = [0, true];
  while (hasMore && searched < settings.recordingsSearched && found.size < promptsMax) {
    const page = await completions.list(filter, { after, limit: 50, order: "desc" });
    for (const { requestId, promptHash } of page.items) {
      if (found.size >= promptsMax || found.has(promptHash)) continue;
      const content = (await completions.find({ projectId, requestId }))?.content ?? null;
      if (content?.prompt.kind !== "conversation") continue;
      if (isHeldOut(content.prompt, promptHash, heldOutShare))
        found.set(promptHash, { requestId, choice: 0, isWanted: null });
    }
    searched += page.items.length;
    after = page.last;
    hasMore = page.hasMore && page.items.length > 0;
  }
  return [...found.values()];
}
