// Formats inter-annotator agreement as text.
import { counted } from "../../../base/domain/text/counted.ts";
import type { QuestionAgreement } from "../../client/api.ts";

/** Returns a line per question. */
export function agreementLines(agreement: readonly QuestionAgreement[]): readonly string[] {
  return agreement.map((of) => `${of.question}: ${agreementText(of)}`);
}

function agreementText(of: QuestionAgreement): string {
  const { items, annotators, percent_agreement: percent, kappa, statistic, reason } = of;
  if (percent === null) return `nothing to compare yet: ${reason ?? "unknown"}`;
  const answers = `${annotators} people's answers to ${counted(items, "item")}`;
  const beyond =
    kappa === null
      ? `no kappa: ${reason ?? "unknown"}`
      : `${statistic === "cohen" ? "Cohen's" : "Fleiss'"} kappa ${kappa.toFixed(3)}`;
  return `${percent.toFixed(0)} % of ${answers} agree, ${beyond}`;
}
