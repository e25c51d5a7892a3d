// How far the annotators of a queue agree, on the wire.
import { Type } from "typebox";
import type { QuestionAgreement } from "../../../judge/annotation/agreement/agreement.ts";
import { answerOf } from "../fields/resource.ts";
import { orNull } from "../nullable.ts";

const questionAnswer = answerOf<QuestionAgreement>()("QuestionAgreement", {
  question: [Type.String({ description: "Its name." }), ({ question }) => question.name],
  feedback_type: Type.String({ description: "Of the answers to it." }),
  items: [
    Type.Integer({ minimum: 0, description: "Items that at least two have answered." }),
    ({ itemCount }) => itemCount,
  ],
  annotators: [
    Type.Integer({ minimum: 0, description: "Who has answered one of those." }),
    ({ annotatorCount }) => annotatorCount,
  ],
  percent_agreement: [
    orNull(Type.Number({ minimum: 0, maximum: 100 }), {
      description: "Of the pairs of answers to an item those that are equal, averaged over items.",
    }),
    ({ observed }) => (observed === null ? null : observed * 100),
  ],
  kappa: orNull(Type.Number({ minimum: -1, maximum: 1 }), {
    description: "1 where all agree, 0 where they agree as often as by chance.",
  }),
  statistic: orNull(Type.Enum(["cohen", "fleiss"]), {
    description: "Cohen's kappa where two have answered in all, Fleiss' where more have.",
  }),
  reason: orNull(Type.String(), { description: "Why there is no kappa, where there is none." }),
});

export const agreementAnswer = answerOf<{ readonly agreement: readonly QuestionAgreement[] }>()(null, {
  agreement: [
    Type.Array(questionAnswer.schema, { description: "Of each question that the queue asks." }),
    ({ agreement }) => agreement.map(questionAnswer.body),
  ],
});
