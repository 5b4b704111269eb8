import fc from 'fast-check';

// The same values in every run, so that only a change can cause a new failure. `npm run fuzz` draws others.
fc.configureGlobal({ seed: 1 });

export default fc;
