/**
 * A plugin of Swagger UI that makes each response one line, which opens to its body and its headers. Written out, the
 * errors of an operation are thousands of pixels, in each operation again.
 */
export const FOLD_RESPONSES = `
const foldResponses = () => ({
  wrapComponents: {
    response: (Response, { React, getComponent }) => (properties) => {
      const [open, setOpen] = React.useState(false);
      const element = React.createElement;
      const description = element(getComponent('Markdown', true), { source: properties.response.get('description') });
      const whole = element('table', { className: 'responses-table' }, element('tbody', null, element(Response, properties)));
      return element('tr', { className: 'response', 'data-code': properties.code },
        element('td', { className: 'response-col_status' }, properties.code),
        element('td', { className: 'response-col_description' },
          element('details', { onToggle: (event) => setOpen(event.currentTarget.open) },
            element('summary', null, description),
            open && whole)));
    },
  },
});
`;

/** Styles of the folded responses, and for wide windows less space: a parameter is a row, with its field at the right. */
export const COMPACT_STYLE = `.swagger-ui .response summary { cursor: pointer; }
.swagger-ui .response summary > div, .swagger-ui .response summary p { display: inline; }
.swagger-ui .response details .response-col_status, .swagger-ui .response details .response-col_description__inner { display: none; }
.swagger-ui .responses-table > tbody > .response > td { padding: 3px 0; font-size: 13px; }
.swagger-ui .response summary .renderedMarkdown :is(p, code) { font-size: 13px; margin: 0; }
.swagger-ui .parameters-container thead, .swagger-ui .responses-header { display: none; }
.swagger-ui textarea.body-param__text { min-height: 150px; height: 150px; }
.swagger-ui .info { margin: 16px 0; }
.swagger-ui .info .title { font-size: 28px; }
.swagger-ui .scheme-container { padding: 8px 0; margin: 0 0 8px; }
.swagger-ui .opblock-tag { font-size: 20px; padding: 4px 20px 4px 10px; }
.swagger-ui .opblock .opblock-section-header { min-height: 0; padding: 4px 20px; }
.swagger-ui .opblock .opblock-section-header .btn { padding: 2px 20px; }
.swagger-ui .opblock-description-wrapper { padding: 8px 20px; }
.swagger-ui .opblock-description-wrapper p { margin: 0; }
.swagger-ui section.models { margin: 12px 0; }
.swagger-ui .execute-wrapper, .swagger-ui .btn-group { padding: 8px 20px; }
.swagger-ui .responses-inner, .swagger-ui .opblock-body .table-container { padding: 6px 20px; }
@media (min-width: 641px) {
  .swagger-ui .parameters-col_name > div { display: inline; margin-right: 8px; }
  .swagger-ui table tbody tr td:is(.parameters-col_name, .parameters-col_description) { padding: 4px 0; }
  .swagger-ui .parameters-col_name { width: 260px; }
  .swagger-ui .parameters-col_description { display: flex; gap: 12px; align-items: start; width: auto; margin: 0; }
  .swagger-ui .parameters-col_description > .renderedMarkdown { flex: 1; }
  .swagger-ui .parameters-col_description .renderedMarkdown :is(p, code) { font-size: 13px; margin: 0; }
  .swagger-ui .parameters-col_description :is(input[type=text], select) { margin: 0; padding: 3px 8px; width: 300px; max-width: none; }
}
`;
