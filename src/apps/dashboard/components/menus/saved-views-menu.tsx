// Menu of the saved views of a list, with a field that saves the current filters, sorting and columns under a name.
import { addressOf, place } from "../../router.ts";
import { textIn } from "../forms/form-values.ts";
import { Icon } from "../icon.tsx";
import { say } from "../status-message.tsx";
import { Menu } from "./menu.tsx";
import { forgetView, listOf, savedViews, saveView } from "./saved-views.ts";

export function SavedViews() {
  const { view, parts, query } = place.value;
  const list = addressOf(view, parts);
  const own = savedViews.value.filter(({ address }) => listOf(address) === list);
  const save = (form: HTMLFormElement): void => {
    const name = textIn(form, "name");
    if (name === "") return;
    const kept = new URLSearchParams(query);
    kept.delete("after");
    kept.delete("before");
    saveView({ name, address: `${list}?${kept.toString()}` });
    form.reset();
    say(`View ${name} saved.`);
  };
  return (
    <Menu label="Saved views">
      {own.length === 0 && <span class="muted">No saved views of this list.</span>}
      {own.map((saved) => (
        <span key={saved.name} class="saved-view">
          <a href={saved.address} dir="auto">
            {saved.name}
          </a>
          <button
            type="button"
            class="plain icon-only"
            aria-label={`Remove the view ${saved.name}`}
            onClick={() => forgetView(saved)}
          >
            <Icon of="close" />
          </button>
        </span>
      ))}
      <form
        class="saved-view"
        onSubmit={(event) => {
          event.preventDefault();
          save(event.currentTarget);
        }}
      >
        <input
          name="name"
          aria-label="Name of the view"
          placeholder="name"
          maxLength={60}
          required
          dir="auto"
        />
        <button type="submit">Save</button>
      </form>
    </Menu>
  );
}
