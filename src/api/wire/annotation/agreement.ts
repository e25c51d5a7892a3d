// API format of the agreement between a queue's annotators.
import { Type } from "typebox";
import type { QuestionAgreement } from "../../../judge/annotation/agreement/agreement.ts";
import { answerOf } from "../fields/resource.ts";
import { orNull } from "../nullable.ts";

const questionAnswer = answerOf<QuestionAgreement>()("QuestionAgreement", {
  question: [Type.String({ description: "Name of the question." }), ({ question }) => question.name],
  feedback_type: Type.String({ description: "Type of the feedback records that contain the answers." }),
  items: [
    Type.Integer({ minimum: 0, description: "Number of items that at least two annotators have answered." }),
    ({ itemCount }) => itemCount,
  ],
  annotators: [
    Type.Integer({
      minimum: 0,
      description: "Number of annotators who have answered at least one of the items counted in `items`.",
    }),
    ({ annotatorCount }) => annotatorCount,
  ],
  percent_agreement: [
    orNull(Type.Number({ minimum: 0, maximum: 100 }), {
      description:
        "Percentage of equal answers among all pairs of answers to the same item, averaged over the items. Null if no item has two answers.",
    }),
    ({ observed }) => (observed === null ? null : observed * 100),
  ],
  kappa: orNull(Type.Number({ minimum: -1, maximum: 1 }), {
    description:
      "Agreement corrected for chance: 1 if all answers agree, 0 if they agree as often as by chance. Null if it cannot be computed.",
  }),
  statistic: orNull(Type.Enum(["cohen", "fleiss"]), {
    description: "Kind of `kappa`: Cohen's for two annotators, Fleiss' for more.",
  }),
  reason: orNull(Type.String(), {
    description: "Sentence that says why `kappa` is null; null if `kappa` has a value.",
  }),
});

export const agreementAnswer = answerOf<{ readonly agreement: readonly QuestionAgreement[] }>()(null, {
  agreement: [
    Type.Array(questionAnswer.schema, { description: "One entry per question of the queue." }),
    ({ agreement }) => agreement.map(questionAnswer.body),
  ],
});
