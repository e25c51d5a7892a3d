// Server for tests that need the real feedback service. An example is a test in which the service refuses an id that
// exists.
import { systemClock } from "../../../base/domain/clock.ts";
import { createFeedbackService } from "../../../judge/feedback/feedback-service.ts";
import { fakeServer } from "./fake-server.ts";

export function feedbackServer(): ReturnType<typeof fakeServer> {
  return fakeServer({
    services: ({ feedback: store, annotation: queues, objects: specs }) => ({
      feedback: createFeedbackService({ store, queues, specs, clock: systemClock }),
    }),
  });
}
