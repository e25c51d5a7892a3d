// How far annotators agree, for people.
import type { QuestionAgreement } from "../../client/api.ts";

export interface AgreementRow {
  readonly question: string;
  readonly agree: string;
  readonly kappa: string;
}

export function agreementRows(agreement: readonly QuestionAgreement[]): readonly AgreementRow[] {
  return agreement.map(
    ({ question, items, annotators, percent_agreement: percent, kappa, statistic, reason }) => ({
      question,
      agree:
        percent === null
          ? "nothing to compare yet"
          : `${percent.toFixed(0)} % of ${annotators} people's answers to ${items} ${items === 1 ? "item" : "items"} agree`,
      kappa:
        kappa === null
          ? `no kappa: ${reason ?? "unknown"}`
          : `${statistic === "cohen" ? "Cohen's" : "Fleiss'"} kappa ${kappa.toFixed(3)}`,
    }),
  );
}
