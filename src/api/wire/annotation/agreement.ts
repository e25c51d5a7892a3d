// Agreement between a queue's annotators, as the API shows it.
import { Type } from "typebox";
import type { QuestionAgreement } from "../../../judge/annotation/agreement/agreement.ts";
import { answerOf } from "../fields/resource.ts";
import { orNull } from "../nullable.ts";

const questionAnswer = answerOf<QuestionAgreement>()("QuestionAgreement", {
  question: [Type.String({ description: "Name of the question." }), ({ question }) => question.name],
  feedback_type: Type.String({ description: "Feedback type of its answers." }),
  items: [
    Type.Integer({ minimum: 0, description: "Items that at least two annotators have answered." }),
    ({ itemCount }) => itemCount,
  ],
  annotators: [
    Type.Integer({ minimum: 0, description: "Annotators who have answered at least one of those items." }),
    ({ annotatorCount }) => annotatorCount,
  ],
  percent_agreement: [
    orNull(Type.Number({ minimum: 0, maximum: 100 }), {
      description: "Share of equal answers among all pairs of answers to an item, averaged over items.",
    }),
    ({ observed }) => (observed === null ? null : observed * 100),
  ],
  kappa: orNull(Type.Number({ minimum: -1, maximum: 1 }), {
    description: "1 if all agree, 0 if they agree as often as by chance.",
  }),
  statistic: orNull(Type.Enum(["cohen", "fleiss"]), {
    description: "Cohen's kappa for two annotators, Fleiss' kappa for more.",
  }),
  reason: orNull(Type.String(), { description: "Why kappa is null; null if there is a kappa." }),
});

export const agreementAnswer = answerOf<{ readonly agreement: readonly QuestionAgreement[] }>()(null, {
  agreement: [
    Type.Array(questionAnswer.schema, { description: "One entry per question of the queue." }),
    ({ agreement }) => agreement.map(questionAnswer.body),
  ],
});
