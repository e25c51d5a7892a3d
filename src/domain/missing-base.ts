// What a job waits for whose base model is not served.
import { ServiceError } from "./service-error.ts";

/** The obstacle, in words for whoever sent the job. */
export function missingBaseError(baseModel: string): ServiceError {
  return new ServiceError({
    code: "unavailable",
    message: `This server does not serve the base model ${JSON.stringify(baseModel)} now; start it with --model, and the job goes on.`,
    obstacle: "missing-base",
  });
}
