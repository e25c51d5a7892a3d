// What a job waits for whose base model is missing, in words for whoever sent it.
import { ServiceError } from "./service-error.ts";

/** Where the server was started without it. */
export function missingBaseError(baseModel: string): ServiceError {
  return missing(
    `This server does not serve the base model ${JSON.stringify(baseModel)} now; start it with --model, and the job goes on.`,
  );
}

/** Where its folder is empty or gone, as that of a disk that is not mounted. */
export function missingFilesError(baseModel: string): ServiceError {
  return missing(
    `The files of the base model ${JSON.stringify(baseModel)} are not where they were; put them back, and the job goes on.`,
  );
}

function missing(message: string): ServiceError {
  return new ServiceError({ code: "unavailable", message, obstacle: "missing-base" });
}
