// Dialog that creates a webhook.
import type { WebhookCreate } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { FormDialog } from "../components/forms/form-dialog.tsx";
import { checkedIn, textIn, textOrNull } from "../components/forms/form-values.ts";
import { ProjectOptions, projectNamed, useProjects } from "../components/forms/projects.tsx";

const events = [
  "training_ended",
  "training_failed",
  "feedback.created",
  "feedback.replaced",
  "feedback.purged",
] as const satisfies WebhookCreate["events"];

export function NewWebhook({
  hone,
  onClose,
  onMade,
}: {
  readonly hone: Hone;
  readonly onClose: () => void;
  readonly onMade: (secret: string) => void;
}) {
  const projects = useProjects(hone);
  const create = async (form: HTMLFormElement): Promise<void> => {
    const checked = checkedIn(form, "events");
    const webhook = await hone.webhooks.create({
      url: textIn(form, "url"),
      events: events.filter((event) => checked.includes(event)),
      project_id: projectNamed(textIn(form, "project_id")) || null,
      description: textOrNull(form, "description"),
    });
    onMade(webhook.secret);
  };
  return (
    <FormDialog title="New webhook" needs="manageWebhooks" onSubmit={create} onClose={onClose}>
      <p class="muted">
        The receiver must be one that the server's operator allows, with the flag{" "}
        <code>--webhooks-allowed</code>.
      </p>
      <label>
        URL of the receiver
        <input name="url" type="url" required placeholder="https://hooks.example.com/hone" />
      </label>
      <fieldset>
        <legend>Events</legend>
        {events.map((event) => (
          <label key={event} class="check">
            <input
              type="checkbox"
              name="events"
              value={event}
              defaultChecked={event.startsWith("training")}
            />
            {event}
          </label>
        ))}
      </fieldset>
      <label>
        Only this project
        <input name="project_id" list="webhook-projects" placeholder="all projects" />
      </label>
      <ProjectOptions id="webhook-projects" projects={projects.value ?? []} />
      <label>
        Description
        <input name="description" />
      </label>
    </FormDialog>
  );
}
