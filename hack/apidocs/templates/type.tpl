{{- define "type" -}}
{{- $type := . -}}
{{- if markdownShouldRenderType $type }}
## {{ $type.Name }}

{{ if $type.IsAlias }}A {{ markdownRenderTypeLink $type.UnderlyingType }}. {{ end }}{{ $type.Doc }}
{{ if $type.References }}
It is in{{ range $i, $of := $type.SortedReferences }}{{ if $i }},{{ end }} {{ markdownRenderTypeLink $of }}{{ end }}.
{{ end }}
{{- if and $type.Validation (not $type.EnumValues) }}
{{ range $type.Validation }}
- {{ . }}
{{- end }}
{{ end }}
{{- if $type.Members }}
| field | what it is | default | rules |
| --- | --- | --- | --- |
{{ range $type.Members -}}
| `{{ .Name }}` _{{ markdownRenderType .Type }}_ | {{ if eq .Name "metadata" }}what all objects have{{ else }}{{ markdownRenderFieldDoc .Doc }}{{ end }} | {{ markdownRenderDefault .Default }} | {{ template "rules" .Validation }} |
{{ end -}}
{{ end }}
{{- if $type.EnumValues }}
| value | what it says |
| --- | --- |
{{ range $type.EnumValues -}}
| `{{ .Name }}` | {{ markdownRenderFieldDoc .Doc }} |
{{ end -}}
{{ end }}
{{- end -}}
{{- end -}}

{{- /* What a field may be. That it may be left out is the rule. */ -}}
{{- define "rules" -}}
{{- $before := "" -}}
{{- range . -}}
{{- if eq . "Required: {}" -}}
{{ $before }}required{{ $before = "<br />" }}
{{- else if ne . "Optional: {}" -}}
{{ $before }}{{ markdownRenderFieldDoc . | replace "\\{" "{" | replace "\\}" "}" }}{{ $before = "<br />" }}
{{- end -}}
{{- end -}}
{{- end -}}
