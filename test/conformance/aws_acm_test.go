package conformance

var awsACM = Module{
	Name: "aws_acm",
	Tables: []Table{{
		Name: "certificate", Identity: "arn",
		Insert: `(domain_name) VALUES ('$n.example.com')`,
		See:    `acm describe-certificate --certificate-arn $id`,
		Create: run(`acm request-certificate --domain-name $n.example.com --validation-method DNS --query CertificateArn`),
		Delete: run(`acm delete-certificate --certificate-arn $id`),
		Change: []Change{tags(`acm list-tags-for-certificate --certificate-arn $id --query Tags`,
			`acm add-tags-to-certificate --certificate-arn $id --tags Key=by,Value=cli`)},
		Replace: Replace{Column: "domain_name", SQL: `'other.example.com'`},
		Fixed: []Change{
			{Column: "subject_alternative_names", SQL: `'{www.example.com}'`,
				See: `acm describe-certificate --certificate-arn $id --query contains(Certificate.SubjectAlternativeNames,\'www.example.com\')`, Want: `true`},
		},
		Skip: map[string]string{
			"certificate_export replaced":                            "moto: RequestCertificate does not keep Options.Export",
			"certificate_transparency_logging_preference by SQL":     "moto: there is no UpdateCertificateOptions",
			"certificate_transparency_logging_preference by the CLI": "moto: there is no UpdateCertificateOptions",
			"validation_method replaced":                             "moto: RequestCertificate does not keep ValidationMethod",
			"validation_domains replaced":                            "moto: RequestCertificate does not keep DomainValidationOptions",
			"key_algorithm replaced":                                 "moto: RequestCertificate does not keep KeyAlgorithm",
		},
	}},
}
