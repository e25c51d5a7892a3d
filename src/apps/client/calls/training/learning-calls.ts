// Calls for models that learn while they are used.
import { CallGroup } from "../call-group.ts";

const one = "/v1/preview/models/{model_id}/learning";

/** The call group `hone.learning`. */
export class LearningCalls extends CallGroup {
  /** Turns learning on, or replaces its settings. */
  readonly turnOn = this.send(`PUT ${one}`);
  readonly turnOff = this.call(`DELETE ${one}`);
  /**
   * Returns the settings and the state.
   *
   * @throws HoneError with the status 404 if learning is off
   */
  readonly get = this.call(`GET ${one}`);
  /** Lists the learning cycles of a model, newest first by default. */
  readonly cycles = this.pages(`GET ${one}/cycles`);
}
