/** What a connection must end when it closes. */
export interface OpenHandle {
  /** Ends the work under way; must not throw. */
  close(): void | Promise<void>;
}

/** The handles that are open, without keeping those alive that their users have dropped. */
export class OpenHandles {
  /** Whose handles they are, as errors name it. */
  readonly owner: string;
  readonly #references = new Set<WeakRef<OpenHandle>>();
  readonly #byHandle = new WeakMap<OpenHandle, WeakRef<OpenHandle>>();
  readonly #registry = new FinalizationRegistry<WeakRef<OpenHandle>>((reference) => {
    this.#references.delete(reference);
  });

  constructor(owner: string) {
    this.owner = owner;
  }

  get size(): number {
    return this.#references.size;
  }

  add(handle: OpenHandle): void {
    const reference = new WeakRef(handle);
    this.#references.add(reference);
    this.#byHandle.set(handle, reference);
    this.#registry.register(handle, reference, reference);
  }

  delete(handle: OpenHandle): void {
    const reference = this.#byHandle.get(handle);
    if (reference === undefined) return;
    this.#references.delete(reference);
    this.#registry.unregister(reference);
  }

  /** Closes all of them; resolves when all have ended. */
  async closeAll(): Promise<void> {
    const handles = [...this.#references].flatMap((reference) => reference.deref() ?? []);
    this.#references.clear();
    await Promise.allSettled(handles.map((handle) => handle.close()));
  }
}
