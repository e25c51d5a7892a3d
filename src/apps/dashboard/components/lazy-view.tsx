// A view whose code the browser loads when the view first opens.
import { type ComponentType, createElement } from "preact";
import { Skeleton } from "./skeleton.tsx";
import { isAway } from "../live.ts";
import { useLoaded } from "../use-loaded.ts";

/**
 * Returns a component whose code loads when it is first shown.
 *
 * @param load imports the module and returns the component. If it fails while the server is away, it is called again once
 * the server answers. Otherwise, the page asks the user to reload, because a newer server has other files
 */
export function lazyView<Properties extends object>(
  load: () => Promise<ComponentType<Properties>>,
): ComponentType<Properties> {
  let loaded: ComponentType<Properties> | null = null;
  return function LazyView(properties: Properties) {
    const { failure, isLoading } = useLoaded(async () => (loaded ??= await load()), []);
    if (loaded !== null) return createElement(loaded, properties);
    return failure === null || isLoading ? (
      <Skeleton />
    ) : (
      <p class="failure" role="alert">
        {isAway.value
          ? "This view is not loaded yet. It opens by itself once the server answers."
          : "This view cannot be loaded, because the server has been updated. Reload the page."}
      </p>
    );
  };
}
