// Summarizes the plan of a preference job for display. Pure.
import { callReference } from "../../../base/domain/recordings/call-reference.ts";
import type { ComparedAnswer, PreferenceOutcome } from "../../../base/domain/rewards/preference-outcome.ts";
import { leftOutByReason } from "../outcome.ts";
import { personOf } from "../scoring/opinions.ts";
import type { PreferenceJobPlan } from "./preference-jobs.ts";
import type { ShownSide } from "./preference-lines.ts";

export function preferenceOutcomeOf({
  gathered: { calls, model },
  written: { preferences },
  leftOut,
  feedbackCount,
}: PreferenceJobPlan): PreferenceOutcome {
  const { counts: leftOutCounts, reasons } = leftOutByReason(leftOut);
  const sides = preferences.flatMap(({ chosen, rejected }) => [chosen, rejected]);
  const people = new Set(sides.flatMap((side) => (side?.feedback ?? []).map(personOf)));
  const shown = (side: ShownSide | null): ComparedAnswer | null =>
    side && {
      call: callReference({ projectId: model.projectId, requestId: side.requestId }, side.choice),
      text: side.text,
      isCorrection: side.correctedText !== null,
      step: side.step,
      reward: side.reward,
      peopleCount: side.peopleCount,
      feedbackIds: side.feedback.map(({ id }) => id),
    };
  return {
    counts: {
      feedback: feedbackCount,
      prompts: new Set(preferences.map(({ promptHash }) => promptHash)).size,
      preferences: preferences.length,
      corrections: preferences.filter(({ chosen }) => (chosen?.correctedText ?? null) !== null).length,
      people: people.size,
      trainedTokens: sides.reduce(
        (sum, side) => sum + (calls.get(side?.requestId ?? "")?.answerTokenCount ?? 0),
        0,
      ),
      leftOut: leftOutCounts,
    },
    reasons,
    preferences: preferences.map(({ chosen, rejected }) => ({
      prompt: calls.get((chosen ?? rejected)?.requestId ?? "")?.promptText ?? "",
      chosen: shown(chosen),
      rejected: shown(rejected),
    })),
    leftOut,
  };
}
